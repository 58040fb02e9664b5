#include "files/file_version.hpp"

#include <sys/stat.h>

#include "files/read_file.hpp"

namespace headscope {

FileVersion::FileVersion(const std::string& path) : path_(path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw cannot_open(path);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  size_ = status.st_size;
  seconds_ = status.st_mtim.tv_sec;
  nanoseconds_ = status.st_mtim.tv_nsec;
}

void FileVersion::check() const {
  if (FileVersion(path_) == *this) return;
  throw DataError(path_, "", "expected the file that was opened, got one changed since");
}

}  // namespace headscope
