#include "headscope/option_table.hpp"

#include <algorithm>

#include "base/fields.hpp"
#include "base/nearest_name.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

using Words = Option::Words;

/// What an option expects, from its placeholder.
std::string expected_kind(const Option& option) {
  if (option.value.starts_with("DIR")) return "a folder";
  if (option.value.starts_with("FILE")) return "a file";
  return option.value.starts_with("PATH") ? "a file or folder" : "a value";
}

/// The parser refuses empty values of required options.
void check_value(const Option& option, const std::string& value) {
  const Words& choices = option.choices;
  if (choices.empty() && option.required.empty() && value.empty()) {
    option.refuse(expected_kind(option) + ",", value);
  }
  if (choices.empty() || std::ranges::count(choices, value) > 0) return;
  throw OptionError("--" + option.name, "expected one of " + joined(choices, ", ") + "; got \"" +
                                            value + "\"" + suggestion(value, choices));
}

}  // namespace

void Option::set(const Words& given_words) {
  store(*this, given_words);
  words = given_words;
  given = true;
}

void Option::refuse(const std::string& expected, const std::string& got) const {
  throw OptionError("--" + name, "expected " + expected + " got \"" + got + "\"");
}

Option& OptionTable::add(Option option) {
  if (const std::size_t comma = option.name.find(','); comma != option.name.npos) {
    option.letter = option.name.back();
    option.name.resize(comma);
  }
  option.heading = heading_;
  option.analysis = analysis_;
  if (!option.default_value.empty()) option.words = {option.default_value};
  return options_.emplace_back(std::move(option));
}

Option& OptionTable::operator()(bool& field, Option option) {
  option.store = [&field, inverse = !field](const Option&, const Words&) { field = inverse; };
  return add(std::move(option));
}

Option& OptionTable::operator()(std::uint64_t& field, Option option) {
  option.default_value = std::to_string(field);
  option.store = [&field](const Option& self, const Words& words) {
    const auto number = parse_whole_number(words.front(), self.most);
    if (!number || *number < self.least) {
      const std::string least = std::to_string(self.least);
      const bool is_too_large = !number && !words.front().empty() &&
                                words.front().find_first_not_of("0123456789") == std::string::npos;
      self.refuse(self.most == Option().most && !is_too_large
                      ? "a whole number >= " + least + ","
                      : "a whole number from " + least + " to " + std::to_string(self.most) + ",",
                  words.front());
    }
    field = *number;
  };
  return add(std::move(option));
}

Option& OptionTable::operator()(std::string& field, Option option) {
  option.default_value = field;
  option.store = [&field](const Option& self, const Words& words) {
    check_value(self, words.front());
    field = words.front();
  };
  return add(std::move(option));
}

Option& OptionTable::operator()(std::vector<std::string>& field, Option option) {
  option.default_value = joined(field, ",");
  option.store = [&field](const Option& self, const Words& words) {
    Words values = words;
    if (!self.several) {
      const auto names = fields::split(words.front(), ',');
      if (std::ranges::count(names, "") > 0) {
        self.refuse("names with commas between them,", words.front());
      }
      values.assign(names.begin(), names.end());
    }
    for (const std::string& value : values) check_value(self, value);
    field = values;
  };
  return add(std::move(option));
}

Option& OptionTable::at(const std::string& name) {
  const auto found = std::ranges::find(options_, name, &Option::name);
  if (found == options_.end()) throw OptionError("--" + name, "no such option");
  return *found;
}

}  // namespace headscope
