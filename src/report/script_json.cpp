#include "report/script_json.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

namespace headscope {

using nlohmann::json;

json json_number(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(number_text(value, digits).c_str(), nullptr);
}

json json_numbers(const std::vector<double>& values) {
  return json_list(values, [](double value) { return json_number(value); });
}

json packed_numbers(std::span<const double> values) {
  double low = INFINITY, high = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::vector<unsigned char> bytes;
  bytes.reserve(2 * values.size());
  for (const double value : values) {
    const double share = high > low ? (value - low) / (high - low) : 0;
    const long code = std::isfinite(value) ? 1 + std::lround(65534 * share) : 0;
    bytes.push_back(static_cast<unsigned char>(code % 256));
    bytes.push_back(static_cast<unsigned char>(code / 256));
  }
  return {{"low", json_number(low, 6)}, {"high", json_number(high, 6)}, {"bytes", base64(bytes)}};
}

json json_texts(const std::vector<std::string>& texts) {
  return json_list(texts, one_line);
}

std::string base64(const std::vector<unsigned char>& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                  static_cast<int>(bytes.size()));
  return text;
}

std::string script_json(const json& data) {
  return escaped(data.dump(), {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

}  // namespace headscope
