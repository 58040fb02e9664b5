#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

#include "files/temporary_file.hpp"

namespace headscope {

/// A text file as UTF-8 with line ends LF, whatever it was: compressed by gzip, in another
/// encoding, with line ends CR LF (where the first line has it) or CR alone. What differs from the
/// file is kept in a temporary file.
class TextFile {
 public:
  /// @param encoding  of the file, as iconv names it: `utf-8`, `latin1`, `utf-16`. UTF-8 is not
  ///                  checked (read_line does).
  /// @throws DataError if the file cannot be read, or holds bytes that the encoding does not; if a
  /// compressed or converted one is refused by read_line, for NUL bytes or long lines.
  /// @throws OptionError if iconv does not know the encoding.
  TextFile(const std::string& path, const std::string& encoding);

  /// The text, from `offset` bytes on. Several streams may be read at once.
  std::unique_ptr<std::istream> open(std::uint64_t offset = 0) const;
  /// A part of the text. @throws DataError if the file cannot be read, or has become shorter.
  std::string read(std::uint64_t offset, std::size_t n_byte) const;

 private:
  std::string path_;
  std::unique_ptr<TemporaryFile> converted_;  // null: the file itself
};

/// Longest line of a text file, and longest document of a plain text.
inline constexpr std::size_t most_line_bytes = std::size_t{64} << 20;

/// A line of a text file, without its line feed and without a byte order mark.
struct TextLine {
  std::string text = {};
  std::uint64_t begin = 0, end = 0;  ///< bytes of the file, with the line feed
  std::size_t number = 0;            ///< from 1
};

/// Replaces `line` by the one after it. @return false if there is none.
/// @throws DataError giving line, column and byte if it is not UTF-8, and what to do then; at the
/// first NUL byte; for a line of more than most_line_bytes; if the text cannot be read to its end.
bool read_line(std::istream& text, const std::string& path, TextLine& line);

}  // namespace headscope
