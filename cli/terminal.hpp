#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headscope {

/// How text goes to standard output or standard error. On a terminal lines end between words,
/// headings are bold and errors coloured, unless NO_COLOR is set (https://no-color.org) or the
/// terminal is `dumb`. Elsewhere text has no escapes.
class Terminal {
 public:
  static const Terminal& out();
  static const Terminal& error();

  bool is_terminal() const { return is_terminal_; }

  /// Of the terminal, now; 80 if it does not say or there is none.
  std::size_t columns() const;

  std::string bold(const std::string& text) const;

  /// For reading: lines of at most 80 columns, fewer on a narrow terminal, with `first` before the
  /// first line and `rest` before the others.
  std::string paragraph(const std::string& text, const std::string& first,
                        const std::string& rest) const;

  /// `text` beside a bold label that takes `width` columns, more if the label is longer: a
  /// paragraph on a terminal, one line elsewhere.
  std::string labelled(const std::string& label, std::size_t width, const std::string& text) const;

  /// A path as a line: its own bytes, for scripts; on a terminal without control characters.
  std::string path(const std::string& path) const;

  /// `headscope: text` as a line; as wide as the terminal, where there is one.
  std::string note(const std::string& text) const;
  std::string warning(const std::string& text) const;
  std::string failure(const std::string& text) const;

 private:
  explicit Terminal(int descriptor);
  std::string message(const std::string& escape, const std::string& kind,
                      const std::string& text) const;

  int descriptor_;
  bool is_terminal_, is_styled_;
};

/// Prints notes on standard error, a line each.
void print_notes(const std::vector<std::string>& notes);

// What `inspect` prints on standard output.

/// `PATH: KIND`.
void print_heading(const std::string& path, const std::string& kind);

void print_paragraph(const std::string& text);

/// @param indent  column of the value.
void print_line(const std::string& label, const std::string& value, std::size_t indent = 26);
void print_line(const std::string& label, std::uint64_t value);

}  // namespace headscope
