#include "terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "base/label_text.hpp"
#include "base/utf8.hpp"

namespace headscope {
namespace {

constexpr std::size_t reading_width = 80;
constexpr const char *bold_escape = "\033[1m", *red_escape = "\033[1;31m",
                     *yellow_escape = "\033[1;33m", *plain_escape = "\033[0m";

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool is_dumb() {
  const char* const name = std::getenv("TERM");
  return name != nullptr && std::string_view(name) == "dumb";
}

/// Lines of at most `width` columns that end at blanks, but not before a per cent sign; a word that
/// is longer has a line of its own.
std::string wrapped(std::string_view text, std::size_t width, const std::string& first,
                    const std::string& rest) {
  std::string lines, line = first;
  std::size_t n_blank = 0;  // before the next word
  while (true) {
    std::size_t end = std::min(text.find(' '), text.size());
    if (text.substr(end, 2) == " %") end = std::min(text.find(' ', end + 1), text.size());
    const std::string_view word = text.substr(0, end);
    const bool has_text = line.find_first_not_of(' ') != std::string::npos;
    if (has_text && character_count(line) + n_blank + character_count(word) > width) {
      lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = rest;
      n_blank = 0;
    }
    line.append(n_blank, ' ') += word;
    n_blank = 1;
    if (end == text.size()) return lines + line + "\n";
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Terminal::Terminal(int descriptor)
    : descriptor_(descriptor),
      is_terminal_(isatty(descriptor) != 0),
      is_styled_(is_terminal_ && !is_set("NO_COLOR") && !is_dumb()) {}

const Terminal& Terminal::out() {
  static const Terminal terminal(STDOUT_FILENO);
  return terminal;
}

const Terminal& Terminal::error() {
  static const Terminal terminal(STDERR_FILENO);
  return terminal;
}

std::size_t Terminal::columns() const {
  winsize size{};
  const bool is_known =
      is_terminal_ && ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : reading_width;
}

std::string Terminal::bold(const std::string& text) const {
  return is_styled_ ? bold_escape + text + plain_escape : text;
}

std::string Terminal::paragraph(const std::string& text, const std::string& first,
                                const std::string& rest) const {
  return wrapped(text, std::min(columns(), reading_width), first, rest);
}

std::string Terminal::labelled(const std::string& label, std::size_t width,
                               const std::string& text) const {
  const std::size_t n_character = character_count(label);
  const std::string blanks(n_character < width ? width - n_character : 1, ' ');
  if (!is_terminal_) return label + blanks + text + "\n";
  // Too narrow for two columns of text: the second goes on below the first.
  constexpr std::size_t least_width = 24, below = 4;
  const bool fits = n_character < width && columns() >= width + least_width;
  const std::size_t indent = fits ? width : below;
  const std::string lines = paragraph(text, label + blanks, std::string(indent, ' '));
  return bold(label) + lines.substr(label.size());
}

std::string Terminal::path(const std::string& path) const {
  return (is_terminal_ ? one_line(path) : path) + "\n";
}

std::string Terminal::note(const std::string& text) const {
  return message(bold_escape, "headscope:", text);
}

std::string Terminal::warning(const std::string& text) const {
  return message(yellow_escape, "headscope: warning:", text);
}

std::string Terminal::failure(const std::string& text) const {
  return message(red_escape, "headscope:", text);
}

std::string Terminal::message(const std::string& escape, const std::string& kind,
                              const std::string& text) const {
  if (!is_terminal_) return kind + " " + text + "\n";
  const std::string lines = wrapped(text, columns(), kind + " ", "  ");
  return is_styled_ ? escape + kind + plain_escape + lines.substr(kind.size()) : lines;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::cerr << Terminal::error().note(one_line(note));
}

void print_heading(const std::string& path, const std::string& kind) {
  std::cout << Terminal::out().labelled(one_line(path) + ":", 0, kind);
}

void print_paragraph(const std::string& text) {
  std::cout << Terminal::out().paragraph(text, "  ", "  ");
}

void print_line(const std::string& label, const std::string& value, std::size_t indent) {
  constexpr std::size_t most = 4000;
  std::cout << Terminal::out().labelled("  " + one_line(label), indent,
                                        shortened(one_line(value), most));
}

void print_line(const std::string& label, std::uint64_t value) {
  print_line(label, std::to_string(value));
}

}  // namespace headscope
