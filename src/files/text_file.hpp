#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

#include "files/temporary_file.hpp"

namespace headscope {

/// A text file as UTF-8, with line ends LF or CR LF, whatever it was: compressed by gzip, in
/// another encoding, with line ends CR alone. What differs from the file is kept in a temporary
/// file.
class TextFile {
 public:
  /// @param encoding  of the file, as iconv names it: `utf-8`, `latin1`, `utf-16`. UTF-8 is not
  ///                  checked (check_utf8).
  /// @throws DataError if the file cannot be read, or holds bytes that the encoding does not.
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

/// @param line    a line of a text, without its end.
/// @param number  of the line, from 1.
/// @throws DataError giving line, column and byte if the line is not UTF-8, and what to do then.
void check_utf8(std::string_view line, const std::string& path, std::size_t number);

}  // namespace headscope
