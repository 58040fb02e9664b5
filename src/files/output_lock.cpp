#include "headscope/output_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "files/descriptor.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

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
Descriptor open_lock(const std::string& path) {
  Descriptor file(
      ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (file >= 0) return file;
  if (errno == ELOOP) throw cannot_write(path, "it is a symbolic link");
  throw cannot_write(path);
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
  Descriptor file;
  struct stat status {};
  do {
    file = open_lock(path_);
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) {
      throw cannot_write(path_, "it is not a file of its own");
    }
    const std::string holder = content_of(file);
    if (!holder.empty() && !holder.starts_with(holder_mark)) {
      throw cannot_write(path_, "it holds what is no lock");
    }
    if (is_held(file)) {
      throw DataError(folder, "",
                      "is being written by " + (holder.empty() ? "another process" : holder) +
                          "; wait until it ends, or choose another folder");
    }
  } while (::fstat(file, &status) != 0 || status.st_nlink == 0);
  descriptor_ = file.release();
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
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file < 0) return errno == ENOENT ? LockState::absent : LockState::unknown;
  if (::flock(file, LOCK_SH | LOCK_NB) == 0) return LockState::abandoned;
  return errno == EWOULDBLOCK ? LockState::held : LockState::unknown;
}

}  // namespace headscope
