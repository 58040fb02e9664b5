#include "pending_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "headscope/error.hpp"

namespace headscope {
namespace {

DataError cannot_write(const std::string& path) {
  return DataError(path, "", std::string("cannot be written: ") + std::strerror(errno));
}

bool sync(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool synced = ::fsync(descriptor) == 0;
  const int sync_error = errno;
  ::close(descriptor);
  errno = sync_error;
  return synced;
}

}  // namespace

PendingFile::PendingFile(std::string path) : path_(std::move(path)) {
  if (std::filesystem::is_directory(path_)) {
    throw DataError(path_, "", "cannot be written: it is a folder");
  }
  for (int attempt = 0;; ++attempt) {
    temporary_path_ = path_ + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    const int descriptor =
        ::open(temporary_path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      ::close(descriptor);
      return;
    }
    if (errno != EEXIST) throw cannot_write(path_);
  }
}

PendingFile::~PendingFile() {
  if (!published_) ::unlink(temporary_path_.c_str());
}

void PendingFile::publish() {
  if (!sync(temporary_path_, O_RDONLY)) throw cannot_write(path_);
  if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) throw cannot_write(path_);
  published_ = true;
  // Some file systems cannot sync a folder; the file itself is already safe.
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  sync(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

}  // namespace headscope
