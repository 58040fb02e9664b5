#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headscope/error.hpp"

/// What the fuzz targets share.
namespace headscope::fuzz {

/// Ends the process, which libFuzzer records with its input, unless the claim holds.
void require(bool holds, std::string_view claim);

/// Checks that what() of an error is fit to print.
void check_message(std::string_view message);

/// Runs a reader. It may return, or refuse with an Error; every other exception ends the process.
/// @return whether it returned.
template <typename Read>
bool read_or_refuse(Read read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    check_message(error.what());
    return false;
  }
}

/// The fuzzer's bytes as a stream of decisions; zeros once they have run out.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t next();
  std::uint16_t next_pair();
  /// 0 .. n-1, n at most 65536.
  std::size_t below(std::size_t n);
  /// One of the choices.
  template <typename Choices>
  auto pick(const Choices& choices) {
    return choices[below(choices.size())];
  }
  /// Up to `most` bytes, their number drawn.
  std::string text(std::size_t most);
  /// All that is left.
  std::string_view rest() const;

 private:
  std::span<const std::uint8_t> rest_;
};

/// A file in memory with a path, filled anew for each input.
class MemoryFile {
 public:
  MemoryFile();
  const std::string& path() const { return path_; }
  void fill(std::string_view bytes) const;

 private:
  int descriptor_;
  std::string path_;
};

/// Path of a file in memory that a writer may make and a reader then read; removed at the end.
class OutputPath {
 public:
  OutputPath();
  ~OutputPath();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// All bytes of a file.
std::string read_file(const std::string& path);

}  // namespace headscope::fuzz
