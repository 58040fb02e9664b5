#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "headscope/error.hpp"

namespace headscope {

/// The state of a file at one time, to detect changes while it is read.
///
/// Compares inode, size and the time of the last modification (4 ms or finer); a change that keeps
/// the size and sets this time back stays undetected. A reader that returns to a file, or trusts a
/// digest of it, must not mix two versions.
class FileVersion {
 public:
  /// @throws DataError if there is no file.
  explicit FileVersion(const std::string& path);

  /// @throws DataError if the file is no longer what it was.
  void check() const;

  bool operator==(const FileVersion&) const = default;

  /// Returns the result of `read`. @throws DataError if the file has changed, even if `read` failed
  /// too.
  template <typename Read>
  auto during(const Read& read) const {
    try {
      auto result = read();
      check();
      return result;
    } catch (const Error&) {
      check();
      throw;
    }
  }

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t size_ = 0;
  std::int64_t seconds_ = 0, nanoseconds_ = 0;
};

/// FileVersion::during for several files.
template <typename Read>
std::invoke_result_t<Read> during(std::span<const FileVersion> versions, const Read& read) {
  if (versions.empty()) return read();
  return versions.front().during([&] { return during(versions.subspan(1), read); });
}

}  // namespace headscope
