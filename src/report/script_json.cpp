#include "report/script_json.hpp"

#include <openssl/evp.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "headscope/number_text.hpp"
#include "headscope/utf8.hpp"

namespace headscope {

using nlohmann::json;

json json_number(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(number_text(value, digits));
}

json json_numbers(const std::vector<double>& values, int digits) {
  json list = json::array();
  for (const double value : values) list.push_back(json_number(value, digits));
  return list;
}

json json_texts(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(one_line(text));
  return list;
}

std::string base64(const std::vector<unsigned char>& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                  static_cast<int>(bytes.size()));
  return text;
}

std::string script_json(const json& data) {
  const std::string text = data.dump();
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace headscope
