#include "option_table.hpp"

#include <algorithm>

#include "headscope/error.hpp"
#include "headscope/number_text.hpp"

namespace headscope {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void refuse(const Option& option, const std::string& expected,
                         const std::string& got) {
  throw OptionError("--" + option.name, "expected " + expected + " got \"" + got + "\"");
}

std::string joined(const Words& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

void check_choice(const Option& option, const std::string& value) {
  const Words& choices = option.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  refuse(option, "one of " + joined(choices, ", ") + ";", value);
}

Words split_at_commas(const std::string& text) {
  Words parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

void Option::set(const Words& given_words) {
  store(given_words);
  words = given_words;
  given = true;
}

void OptionTable::add(Option option) {
  option.heading = heading_;
  if (!option.default_value.empty()) option.words = {option.default_value};
  options_.push_back(std::move(option));
}

void OptionTable::add(Option option, const std::string& expected,
                      const std::function<bool(const std::string&)>& store) {
  option.store = [option, expected, store](const Words& words) {
    if (!store(words.front())) refuse(option, expected + ",", words.front());
  };
  add(std::move(option));
}

void OptionTable::operator()(bool& field, Option option) {
  option.store = [&field, inverse = !field](const Words&) { field = inverse; };
  add(std::move(option));
}

void OptionTable::operator()(std::uint64_t& field, Option option) {
  const std::uint64_t most = option.most;
  option.default_value = std::to_string(field);
  add(std::move(option),
      option.most == Option().most ? "a whole number >= 0"
                                   : "a whole number from 0 to " + std::to_string(option.most),
      [&field, most](const std::string& text) {
        const auto number = parse_whole_number(text, most);
        field = number.value_or(field);
        return number.has_value();
      });
}

void OptionTable::operator()(std::string& field, Option option) {
  option.default_value = field;
  option.store = [&field, option](const Words& words) {
    check_choice(option, words.front());
    field = words.front();
  };
  add(std::move(option));
}

void OptionTable::operator()(std::vector<std::string>& field, Option option) {
  option.default_value = joined(field, ",");
  option.store = [&field, option](const Words& words) {
    const Words values = option.several ? words : split_at_commas(words.front());
    if (!option.several && std::count(values.begin(), values.end(), "") > 0) {
      refuse(option, "names with commas between them,", words.front());
    }
    for (const std::string& value : values) check_choice(option, value);
    field = values;
  };
  add(std::move(option));
}

Option& OptionTable::at(const std::string& name) {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const Option& option) { return option.name == name; });
  if (found == options_.end()) throw OptionError("--" + name, "no such option");
  return *found;
}

}  // namespace headscope
