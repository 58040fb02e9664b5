#include "run/output_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "headscope/error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

DataError cannot_write(const std::string& path, const std::string& reason) {
  return DataError(path, "", "cannot be written: " + reason);
}

std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

std::string content_of(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "another process";
}

// False once its holder has removed the file.
bool has_name(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

void make_folder(const std::string& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) throw DataError(path, "", "cannot be made: " + failure.message());
}

void check_output_folder(const std::string& path) {
  std::error_code ignored;
  for (const char* name : {"results.h5", "report.html", "report.md"}) {
    const fs::path file = fs::path(path) / name;
    const fs::file_status status = fs::status(file, ignored);
    if (fs::is_directory(status)) throw cannot_write(file.string(), "it is a folder");
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      throw cannot_write(file.string(), "it is not a file");
    }
  }
  for (const char* name : {"", "tables", "figures", "shards"}) {
    const fs::path folder = *name == '\0' ? fs::path(path) : fs::path(path) / name;
    const fs::file_status status = fs::status(folder, ignored);
    if (!fs::exists(status)) continue;
    if (!fs::is_directory(status)) throw cannot_write(folder.string(), "it is not a folder");
    if (::access(folder.c_str(), W_OK) != 0) {
      throw cannot_write(folder.string(), std::strerror(errno));
    }
  }
}

void announce_replacement(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(fs::path(path) / "results.h5", ignored)) return;
  std::cerr << "headscope: the results in " << path << " will be replaced\n";
}

OutputLock::OutputLock(const std::string& folder, const std::string& name)
    : path_((fs::path(folder) / name).string()) {
  make_folder(folder);
  for (;;) {
    descriptor_ = ::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw cannot_write(path_, std::strerror(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      const std::string holder = content_of(descriptor_);
      ::close(descriptor_);
      throw DataError(
          folder, "",
          "is being written by " + holder + "; wait until it ends, or choose another folder");
    }
    if (has_name(descriptor_)) break;
    ::close(descriptor_);
  }
  // Only for the message above, so a full disk does not matter.
  const std::string holder = this_process();
  static_cast<void>(::ftruncate(descriptor_, 0) != 0 ||
                    ::pwrite(descriptor_, holder.data(), holder.size(), 0) < 0);
}

OutputLock::~OutputLock() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace headscope
