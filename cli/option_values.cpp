#include "option_values.hpp"

#include <algorithm>

namespace headscope {

po::typed_value<std::string>* whole_number(const char* default_value) {
  return po::value<std::string>()->default_value(default_value)->value_name("N");
}

std::uint64_t read_whole_number(const po::variables_map& values, const char* option) {
  const std::string& text = values[option].as<std::string>();
  const bool digits =
      !text.empty() && text.size() <= 18 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) {
    throw UsageError(std::string("--") + option + ": expected a whole number >= 0, got \"" + text +
                     "\"");
  }
  return std::stoull(text);
}

std::vector<std::string> read_list(const std::string& text, const char* option) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (std::count(parts.begin(), parts.end(), "") > 0) {
    throw UsageError(std::string("--") + option +
                     ": expected names with commas between them, got \"" + text + "\"");
  }
  return parts;
}

void check_known(const char* option, const std::string& value,
                 const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  throw UsageError(std::string("--") + option + ": expected one of " + list + "; got \"" + value +
                   "\"");
}

void add_n_head_option(po::options_description& options) {
  options.add_options()(
      "n-head", whole_number("0"),
      "heads per layer, for model files that do not say (default 0: d_model / 64)");
}

Index read_n_head(const po::variables_map& values) {
  return read_whole_number(values, "n-head");
}

void add_figures_option(po::options_description& options) {
  options.add_options()(
      "figures", po::value<std::string>()->default_value("svg,png")->value_name("FORMATS"),
      "svg, png, pdf, separated by commas (default svg,png; svg is always drawn, for the report)");
}

std::vector<std::string> read_figure_formats(const std::string& text) {
  std::vector<std::string> formats = read_list(text, "figures");
  for (const std::string& format : formats) check_known("figures", format, {"svg", "png", "pdf"});
  if (std::find(formats.begin(), formats.end(), "svg") == formats.end()) formats.push_back("svg");
  return formats;
}

std::string command_line_text(const std::string& command, const Arguments& arguments) {
  const std::string plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,=:+@%";
  std::string text = "headscope " + command;
  for (const std::string& argument : arguments) {
    text += ' ';
    if (!argument.empty() && argument.find_first_not_of(plain) == argument.npos) {
      text += argument;
      continue;
    }
    text += '\'';
    for (const char c : argument) text += c == '\'' ? "'\\''" : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace headscope
