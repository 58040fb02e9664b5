#include "files/pending_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "headscope/error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const std::string pending_mark = ".part-";

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

// A writer locks its file, so an unlocked one is a leftover.
// @return whether the file still exists
bool lock(int descriptor) {
  ::flock(descriptor, LOCK_EX);
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

// Whether a name is a beginning and two numbers, as PendingFile makes it.
bool is_temporary(std::string_view name, std::string_view beginning) {
  if (!name.starts_with(beginning)) return false;
  const std::string_view rest = name.substr(beginning.size());
  const std::size_t dash = rest.find('-');
  return dash != 0 && dash != rest.npos && dash + 1 < rest.size() &&
         rest.find_first_not_of("0123456789-") == rest.npos &&
         rest.find('-', dash + 1) == rest.npos;
}

// Some file systems cannot sync a folder; what its files hold is already safe.
void sync_folder(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ::fsync(opened);
}

}  // namespace

// Renaming onto a device would replace it by a file.
void check_replaceable(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) throw cannot_write(path, "it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw cannot_write(path, "it is not a file");
  }
}

PendingFile::PendingFile(std::string path) : path_(std::move(path)) {
  check_replaceable(path_);
  remove_leftovers(path_);
  for (int attempt = 0;; ++attempt) {
    temporary_path_ =
        path_ + pending_mark + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    descriptor_ =
        Descriptor(::open(temporary_path_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666));
    if (descriptor_ < 0 && errno != EEXIST) throw cannot_write(path_);
    if (descriptor_ >= 0 && lock(descriptor_)) return;
  }
}

PendingFile::~PendingFile() {
  if (!published_) ::unlink(temporary_path_.c_str());
}

void PendingFile::append(std::string_view bytes) {
  headscope::append(descriptor_, bytes, path_);
}

void PendingFile::publish() {
  if (::fsync(descriptor_) != 0) throw cannot_write(path_);
  if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) throw cannot_write(path_);
  published_ = true;
}

void PendingFile::publish_durably() {
  publish();
  sync_folder(folder_of(path_));
}

bool PendingFile::publish_first() {
  if (::fsync(descriptor_) != 0) throw cannot_write(path_);
  // The temporary name is removed with this object.
  if (::link(temporary_path_.c_str(), path_.c_str()) != 0) {
    if (errno == EEXIST) return false;
    // File systems without hard links.
    if (::renameat2(AT_FDCWD, temporary_path_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) !=
        0) {
      if (errno == EEXIST) return false;
      throw cannot_write(path_);
    }
    published_ = true;
  }
  sync_folder(folder_of(path_));
  return true;
}

void write_file(const std::string& path, std::string_view bytes) {
  PendingFile file(path);
  file.append(bytes);
  file.publish();
}

void remove_leftovers(const std::string& path) {
  const std::string beginning = fs::path(path).filename().string() + pending_mark;
  std::error_code failure;
  fs::directory_iterator entry(folder_of(path), failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    if (!is_temporary(entry->path().filename().string(), beginning)) continue;
    const Descriptor file(
        ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
  }
}

void remove_file(const std::string& path) {
  remove_leftovers(path);
  std::error_code failure;
  fs::remove(path, failure);
  if (failure) throw DataError(path, "", "cannot be removed: " + failure.message());
}

}  // namespace headscope
