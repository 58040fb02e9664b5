#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headscope/error.hpp"

/// Shared by the fuzz targets.
namespace headscope::fuzz {

/// Aborts unless the claim holds, so that libFuzzer saves the input.
void require(bool holds, std::string_view claim);

/// Checks that an error message is one printable line.
void check_message(std::string_view message);

/// Runs a reader, which may return or throw an Error; any other exception ends the process.
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

/// Draws decisions from the fuzzer's bytes; zeros after the last byte.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t next();
  std::uint16_t next_pair();
  /// A number from 0 to n-1; n is at most 65536.
  std::size_t below(std::size_t n);
  template <typename Choices>
  auto pick(const Choices& choices) {
    return choices[below(choices.size())];
  }
  /// A text of up to `most` bytes; its length is drawn too.
  std::string text(std::size_t most);
  /// The bytes not used yet.
  std::string_view rest() const;

 private:
  std::span<const std::uint8_t> rest_;
};

/// What a target does with an input. Each target defines it.
void test_input(Bytes bytes);

/// Path of a file in memory that holds these bytes until the next call.
const std::string& file_with(std::string_view content);

/// Path of a file in memory that a test may write and read; removed at destruction.
class OutputPath {
 public:
  OutputPath();
  ~OutputPath();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A text as corpora read it: line ends CR become LF if there is no LF.
std::string with_lf(std::string_view text);

std::string read_file(const std::string& path);

/// Reads every piece of a corpus, or of one of its files.
template <typename Corpus, typename Use>
void for_each_piece(const Corpus& corpus, const Use& use) {
  for (std::uint64_t document = 0; document < corpus.n_document(); ++document) {
    const std::uint64_t n_piece = corpus.n_piece(document);
    require(n_piece > 0, "a document has pieces");
    for (std::uint64_t index = 0; index < n_piece; ++index) use(corpus.piece(document, index));
  }
}

}  // namespace headscope::fuzz
