#include "packed_text.hpp"

namespace headscope {

std::vector<double> packed_texts(const std::vector<std::string>& texts) {
  std::vector<double> numbers;
  for (const std::string& text : texts) {
    numbers.push_back(static_cast<double>(text.size()));
    for (const char c : text) numbers.push_back(static_cast<unsigned char>(c));
  }
  return numbers;
}

std::vector<std::string> unpacked_texts(const Array& row) {
  std::vector<std::string> texts;
  for (auto next = row.values.begin(); next != row.values.end();) {
    std::string text(static_cast<std::size_t>(*next++), '\0');
    for (char& c : text) c = static_cast<char>(static_cast<unsigned char>(*next++));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace headscope
