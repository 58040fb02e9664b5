#include "headscope/output_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "headscope/error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

DataError cannot_write(const std::string& path, const std::string& reason) {
  return DataError(path, "", "cannot be written: " + reason);
}

const std::string holder_mark = "process ";

std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return holder_mark + std::to_string(::getpid()) + " on " + host.data();
}

std::string content_of(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  return std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

// A link in the lock's place would have its target overwritten.
// @throws DataError if the lock's name is that of a link, pipe, folder or device.
int open_lock(const std::string& path) {
  const int descriptor =
      ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor >= 0) return descriptor;
  if (errno == ELOOP) throw cannot_write(path, "it is a symbolic link");
  throw cannot_write(path, std::strerror(errno));
}

// A process that only asks whether a lock is held has it for an instant.
bool is_held(int descriptor) {
  constexpr int n_attempt = 10, microseconds = 20'000;
  for (int attempt = 0; attempt < n_attempt; ++attempt) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return false;
    ::usleep(microseconds);
  }
  return true;
}

}  // namespace

void make_folder(const std::string& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) throw DataError(path, "", "cannot be made: " + failure.message());
}

OutputLock::OutputLock(const std::string& folder, const std::string& name)
    : path_((fs::path(folder) / name).string()) {
  make_folder(folder);
  for (;;) {
    descriptor_ = open_lock(path_);
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) {
      ::close(descriptor_);
      throw cannot_write(path_, "it is not a file of its own");
    }
    const std::string holder = content_of(descriptor_);
    if (!holder.empty() && !holder.starts_with(holder_mark)) {
      ::close(descriptor_);
      throw cannot_write(path_, "it holds something else than a lock");
    }
    if (is_held(descriptor_)) {
      ::close(descriptor_);
      throw DataError(folder, "",
                      "is being written by " + (holder.empty() ? "another process" : holder) +
                          "; wait until it ends, or choose another folder");
    }
    if (::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) break;
    ::close(descriptor_);
  }
  // Only for the message above, so a full disk does not matter.
  const std::string text = this_process();
  static_cast<void>(::ftruncate(descriptor_, 0) != 0 ||
                    ::pwrite(descriptor_, text.data(), text.size(), 0) < 0);
}

OutputLock::~OutputLock() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

LockState lock_state(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return errno == ENOENT ? LockState::absent : LockState::unknown;
  const bool is_free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  const int failure = errno;
  ::close(descriptor);
  if (is_free) return LockState::abandoned;
  return failure == EWOULDBLOCK ? LockState::held : LockState::unknown;
}

}  // namespace headscope
