#include "base/json_text.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "headscope/error.hpp"

namespace headscope {

using nlohmann::json;

namespace {

constexpr std::size_t deepest = 32;

// Stops at malformed text, a key given twice, and too many levels. json::parse with a callback
// checks the same, but in a time that grows with the square of the number of keys.
class JsonCheck : public json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool key(string_t& key) override {
    return keys_.back().insert(key).second || refuse("the key \"" + key + "\" twice");
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    const bool is_surrogate = std::string_view(error.what()).find("surrogate") != std::string::npos;
    return refuse(is_surrogate ? "a lone surrogate, half of a character"
                               : "unfinished or other text");
  }

  /// What was found at the place where it stopped; empty if it did not.
  const std::string& fault() const { return fault_; }

 private:
  bool refuse(std::string found) {
    fault_ = std::move(found);
    return false;
  }
  bool open() {
    keys_.emplace_back();
    return keys_.size() <= deepest || refuse("more than " + std::to_string(deepest) + " levels");
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::string fault_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects
};

}  // namespace

json parse_json(std::string_view text) {
  JsonCheck check;
  if (!json::sax_parse(text, &check)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

json parse_json(std::string_view text, const std::string& source) {
  json value = parse_json(text);
  if (value.is_discarded()) throw DataError(source, "", "expected JSON, got " + json_fault(text));
  return value;
}

std::string json_fault(std::string_view text) {
  JsonCheck check;
  json::sax_parse(text, &check);
  return check.fault();
}

std::string json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace headscope
