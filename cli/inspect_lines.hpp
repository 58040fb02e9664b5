#pragma once

#include <cstdint>
#include <string>

namespace headscope {

/// `PATH: KIND`.
void print_heading(const std::string& path, const std::string& kind);

void print_paragraph(const std::string& text);

/// @param indent  column of the value.
void print_line(const std::string& label, const std::string& value, std::size_t indent = 26);
void print_line(const std::string& label, std::uint64_t value);

}  // namespace headscope
