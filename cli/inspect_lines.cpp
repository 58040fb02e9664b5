#include "inspect_lines.hpp"

#include <iostream>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "terminal.hpp"

namespace headscope {

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
