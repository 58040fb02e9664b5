#include "files/text_file.hpp"

#include <fcntl.h>
#include <iconv.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "files/gzip.hpp"
#include "files/read_file.hpp"

namespace headscope {
namespace {

bool is_utf8_name(std::string encoding) {
  std::erase(encoding, '-');
  return lower_ascii(encoding) == "utf8";
}

/// Converts text to UTF-8, block by block.
class Converter {
 public:
  Converter(const std::string& path, const std::string& encoding)
      : path_(path), encoding_(encoding), iconv_(iconv_open("UTF-8", encoding.c_str())) {
    if (iconv_ != failed()) return;
    throw OptionError("encoding", "expected an encoding that iconv knows, such as latin1, got \"" +
                                      encoding + "\"");
  }
  ~Converter() { iconv_close(iconv_); }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  std::string convert(std::string_view block) {
    pending_ += block;
    std::string text;
    char* from = pending_.data();
    std::size_t n_from = pending_.size();
    while (n_from > 0) {
      const std::size_t before = n_from;
      const std::size_t result = convert_some(&from, &n_from, text);
      n_converted_ += before - n_from;
      if (result != static_cast<std::size_t>(-1) || errno == E2BIG) continue;
      if (errno == EINVAL) break;  // a character that the next block completes
      refuse(*from);
    }
    pending_.erase(0, pending_.size() - n_from);
    return text;
  }
  /// What some encodings hold back of the last character, which a mark could follow.
  std::string finish() {
    if (!pending_.empty()) refuse(pending_[0]);
    std::string text;
    convert_some(nullptr, nullptr, text);
    return text;
  }

 private:
  /// Appends what fits a buffer. @return iconv's result.
  std::size_t convert_some(char** from, std::size_t* n_from, std::string& text) {
    std::array<char, 4096> out;
    char* to = out.data();
    std::size_t n_to = out.size();
    const std::size_t result = ::iconv(iconv_, from, n_from, &to, &n_to);
    text.append(out.data(), out.size() - n_to);
    return result;
  }
  static iconv_t failed() { return std::bit_cast<iconv_t>(std::intptr_t{-1}); }
  [[noreturn]] void refuse(char byte) const {
    throw DataError(path_, "",
                    "expected text in " + encoding_ + ", got byte " +
                        std::to_string(static_cast<unsigned char>(byte)) + " at byte " +
                        std::to_string(n_converted_ + 1) + " of the text");
  }

  std::string path_, encoding_;
  iconv_t iconv_;
  std::string pending_;
  std::uint64_t n_converted_ = 0;
};

/// Checks text block by block for what no text has.
class TextCheck {
 public:
  explicit TextCheck(const std::string& path) : path_(path) {}

  void add(std::string_view block) {
    const std::size_t nul = block.find('\0');
    for (const char c : block.substr(0, nul)) {
      line_bytes_ = c == '\n' || c == '\r' ? 0 : line_bytes_ + 1;
      line_ += c == '\n' ? 1U : 0U;
      if (line_bytes_ > most_line_bytes) refuse_long_line(path_, line_);
    }
    if (nul != block.npos) refuse_nul(path_, line_);
  }

  [[noreturn]] static void refuse_nul(const std::string& path, std::size_t line) {
    throw DataError(path, std::to_string(line), "expected text, got a NUL byte");
  }
  [[noreturn]] static void refuse_long_line(const std::string& path, std::size_t line) {
    throw DataError(path, std::to_string(line),
                    "expected lines of at most 64 MiB, got a longer one");
  }

 private:
  const std::string& path_;
  std::size_t line_ = 1, line_bytes_ = 0;
};

/// Whether the beginning of a text has the byte order mark of UTF-16.
bool begins_as_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

enum class LineEnd { lf, cr_lf, cr };

/// How the first line of a text ends; CR alone is a line end where there is no LF.
LineEnd first_line_end(std::istream& text, const std::string& path) {
  bool any_cr = false, first = true;
  char before = '\0';
  TextCheck check(path);
  std::array<char, std::size_t{1} << 16> block;
  while (text.read(block.data(), block.size()) || text.gcount() > 0) {
    const std::string_view bytes(block.data(), static_cast<std::size_t>(text.gcount()));
    if (first && begins_as_utf16(bytes)) return LineEnd::lf;
    first = false;
    const std::size_t line_feed = bytes.find('\n');
    if (line_feed != std::string_view::npos) {
      if (line_feed > 0) before = bytes[line_feed - 1];
      return before == '\r' ? LineEnd::cr_lf : LineEnd::lf;
    }
    before = bytes.back();
    check.add(bytes);
    any_cr = any_cr || bytes.find('\r') != std::string_view::npos;
  }
  check_was_read(text, path);
  return any_cr ? LineEnd::cr : LineEnd::lf;
}

/// Writes a text whose lines end with CR LF or CR with LF for them.
std::unique_ptr<TemporaryFile> with_line_feeds(std::istream& text, const std::string& path,
                                               LineEnd end) {
  auto file = std::make_unique<TemporaryFile>();
  file->unlink();
  bool after_cr = false;  // the last block ended with a CR that an LF may follow
  read_blocks(text, path, [&](std::string_view block) {
    std::string lines = after_cr ? "\r" : "";
    lines += block;
    after_cr = end == LineEnd::cr_lf && lines.ends_with('\r');
    if (after_cr) lines.pop_back();
    if (end == LineEnd::cr) {
      std::ranges::replace(lines, '\r', '\n');
    } else {
      replace_all(lines, "\r\n", "\n");
    }
    file->append(lines);
  });
  if (after_cr) file->append("\r");
  return file;
}

}  // namespace

TextFile::TextFile(const std::string& path, const std::string& encoding) : path_(path) {
  open_to_read(path);
  const bool compressed = is_gzip(path);
  std::optional<Converter> converter;
  if (!is_utf8_name(encoding)) converter.emplace(path, encoding);
  if (compressed || converter) {
    converted_ = std::make_unique<TemporaryFile>();
    converted_->unlink();
    TextCheck check(path);
    const auto take = [&](std::string_view block) {
      const std::string text = converter ? converter->convert(block) : std::string(block);
      check.add(text);
      converted_->append(text);
    };
    if (compressed) {
      read_gzip(path, take);
    } else {
      read_blocks(path, take);
    }
    if (converter) {
      const std::string text = converter->finish();
      check.add(text);
      converted_->append(text);
    }
  }
  const LineEnd end = first_line_end(*open(), path);
  if (end != LineEnd::lf) converted_ = with_line_feeds(*open(), path, end);
}

std::unique_ptr<std::istream> TextFile::open(std::uint64_t offset) const {
  if (converted_) return converted_->open(offset);
  auto stream = std::make_unique<std::ifstream>(open_to_read(path_));
  stream->seekg(static_cast<std::streamoff>(offset));
  return stream;
}

std::string TextFile::read(std::uint64_t offset, std::size_t n_byte) const {
  const Descriptor opened(converted_ ? -1 : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!converted_ && opened < 0) throw cannot_open(path_);
  std::string text(n_byte, '\0');
  const int descriptor = converted_ ? converted_->descriptor() : opened;
  if (read_at(descriptor, text.data(), n_byte, offset) == static_cast<ssize_t>(n_byte)) return text;
  throw DataError(path_, "", "expected the bytes seen when it was opened, got fewer");
}

bool read_line(std::istream& text, const std::string& path, TextLine& line) {
  std::array<char, std::size_t{1} << 14> block;
  line.text.clear();
  do {
    // A block that is full is no failure.
    if (text.fail() && !text.eof() && !text.bad()) text.clear();
    text.getline(block.data(), block.size());
    const auto n_read = static_cast<std::size_t>(text.gcount());
    const std::size_t n_byte = n_read - (text.good() ? 1 : 0);  // without the line feed
    line.text.append(block.data(), n_byte);
    const bool has_nul =
        std::string_view(block.data(), n_byte).find('\0') != std::string_view::npos;
    if (has_nul && (line.number > 0 || !begins_as_utf16(line.text))) {
      TextCheck::refuse_nul(path, line.number + 1);
    }
    if (line.text.size() > most_line_bytes) TextCheck::refuse_long_line(path, line.number + 1);
  } while (text.fail() && !text.eof() && !text.bad());
  check_was_read(text, path);
  if (text.eof() && line.text.empty()) return false;
  line.begin = line.end;
  line.end += line.text.size() + (text.eof() ? 0 : 1);
  if (++line.number == 1 && line.text.starts_with(utf8::byte_order_mark)) {
    line.text.erase(0, utf8::byte_order_mark.size());
    line.begin += utf8::byte_order_mark.size();
  }
  const std::size_t valid = utf8::valid_prefix(line.text);
  if (valid == line.text.size()) return true;
  const bool is_utf16 = line.number == 1 && begins_as_utf16(line.text);
  throw DataError(path, std::to_string(line.number),
                  "expected UTF-8, got byte " +
                      std::to_string(static_cast<unsigned char>(line.text[valid])) + " at column " +
                      std::to_string(valid + 1),
                  is_utf16 ? Remedy::utf16 : Remedy::latin1);
}

}  // namespace headscope
