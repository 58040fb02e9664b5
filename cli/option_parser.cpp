#include "option_parser.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/nearest_name.hpp"
#include "base/utf8.hpp"
#include "files/read_file.hpp"
#include "headscope/error.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

namespace po = boost::program_options;
using Words = Option::Words;

OptionTable with_help(OptionTable options) {
  options.add({"help,h", "", "show this help"});
  return options;
}

po::options_description describe(const OptionTable& options) {
  po::options_description description;
  for (const Option& option : options.options()) {
    std::string names = option.name;
    if (option.letter != 0) names += std::string(",") + option.letter;
    const po::value_semantic* value = nullptr;
    if (option.is_switch()) {
      value = po::bool_switch();
    } else if (option.several) {
      value = po::value<Words>()->multitoken();
    } else {
      value = po::value<std::string>();
    }
    description.add_options()(names.c_str(), value, "");
  }
  return description;
}

po::positional_options_description positions(const OptionTable& options) {
  po::positional_options_description positions;
  for (const Option& option : options.options()) {
    if (option.positional) positions.add(option.name.c_str(), option.several ? -1 : 1);
  }
  return positions;
}

/// A value of a file of options: without quotes around it; `~/` at its beginning is the home
/// folder.
std::string value_in_file(const std::string& text) {
  const bool is_quoted = text.size() > 1 && (text.front() == '"' || text.front() == '\'') &&
                         text.back() == text.front();
  if (is_quoted) return text.substr(1, text.size() - 2);
  const char* const home = std::getenv("HOME");
  return text.starts_with("~/") && home != nullptr ? home + text.substr(1) : text;
}

/// A named pipe without a writer would be waited for; a stream that the shell has opened is not.
std::string text_of_options(const std::string& path) {
  if (!path.starts_with("/dev/")) return read_file(path);
  std::ifstream stream(path);
  if (!stream) throw cannot_open(path);
  std::string text;
  read_blocks(stream, path, [&](std::string_view block) { text += block; });
  return text;
}

/// Where the comment of a line begins: at a `#` at the beginning or after white space, outside a
/// value in quotes. The length of a line without one.
std::size_t comment_place(const std::string& line) {
  constexpr const char* blanks = " \t\r";
  std::size_t quote = line.find_first_not_of(blanks, line.find('=') + 1), end_quote = line.npos;
  if (quote != line.npos && (line[quote] == '"' || line[quote] == '\'')) {
    end_quote = line.find(line[quote], quote + 1);
  }
  for (std::size_t i = line.find('#'); i != line.npos; i = line.find('#', i + 1)) {
    const bool is_quoted = end_quote != line.npos && quote < i && i < end_quote,
               is_apart = i == 0 || std::string_view(blanks).find(line[i - 1]) != line.npos;
    if (is_apart && !is_quoted) return i;
  }
  return line.size();
}

/// Boost would take every `#` for the beginning of a comment.
constexpr char kept_hash = '\x01';

std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    line.resize(comment_place(line));
    std::ranges::replace(line, '#', kept_hash);
    result += line + "\n";
  }
  return result;
}

std::string with_hashes(std::string text) {
  std::ranges::replace(text, kept_hash, '#');
  return text;
}

void read_config_file(const std::string& path, const po::options_description& description,
                      po::variables_map& values) {
  const std::string text = text_of_options(path);
  const bool has_mark = text.starts_with(utf8::byte_order_mark);
  std::istringstream lines(
      without_comments(has_mark ? text.substr(utf8::byte_order_mark.size()) : text));
  try {
    auto parsed = po::parse_config_file(lines, description);
    for (po::option& option : parsed.options) {
      if (option.string_key == "config" || option.string_key == "help") {
        throw UsageError(path + ": --" + option.string_key +
                         ": expected on the command line, got in a file of options");
      }
      std::ranges::transform(option.value, option.value.begin(), [](const std::string& value) {
        return value_in_file(with_hashes(value));
      });
    }
    po::store(parsed, values);
  } catch (const po::error& error) {
    throw UsageError(path + ": " + with_hashes(error.what()));
  }
}

/// The values given for an option; empty if it was not given.
Words given_words(const Option& option, const po::variables_map& values) {
  if (values.count(option.name) == 0) return {};
  const po::variable_value& value = values[option.name];
  if (option.is_switch()) return value.as<bool>() ? Words{"true"} : Words{};
  return option.several ? value.as<Words>() : Words{value.as<std::string>()};
}

/// The end of an option's help: ` (0: all; default 32)`.
std::string default_text(const Option& option) {
  if (!option.required.empty()) return " (required)";
  const std::string &value = option.default_value, &empty = option.when_empty;
  if (value.empty()) return empty.empty() ? "" : " (default: " + empty + ")";
  if (empty.empty()) return " (default " + value + ")";
  return value == "0" ? " (default 0: " + empty + ")"
                      : " (0: " + empty + "; default " + value + ")";
}

std::vector<std::string> typed_names(const OptionTable& options) {
  std::vector<std::string> names;
  for (const Option& option : options.options()) {
    if (!option.positional) names.push_back("--" + option.name);
  }
  return names;
}

}  // namespace

std::string names_text(const Option& option) {
  return (option.letter == 0 ? "" : std::string("-") + option.letter + ", ") + call_text(option);
}

std::string call_text(const Option& option) {
  if (option.positional) return option.value;
  return "--" + option.name + (option.is_switch() ? "" : " " + option.value);
}

std::string option_help(const Option& option) {
  return option.help + default_text(option);
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

bool parse_options(const std::string& command, const std::vector<std::string>& arguments,
                   OptionTable& options) {
  const po::options_description description = describe(with_help(options));
  po::variables_map values;
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(arguments)
                  .options(description)
                  .positional(positions(options))
                  .style(style)
                  .run(),
              values);
  } catch (const po::unknown_option& error) {
    throw UsageError(error.what() +
                     suggestion(error.get_option_name(), typed_names(with_help(options))));
  } catch (const po::too_many_positional_options_error&) {
    throw UsageError(command + ": expected fewer arguments; usage: headscope " +
                     usage_text(command, options));
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  if (values["help"].as<bool>()) return false;
  if (values.count("config") > 0) {
    Option& config = options.at("config");
    config.set(given_words(config, values));
    read_config_file(config.words.front(), description, values);
  }
  for (Option& option : options.options()) {
    const Words words = given_words(option, values);
    if (!words.empty()) option.set(words);
    const bool is_empty = std::ranges::count(option.words, "") > 0;
    if (option.required.empty() || (!option.words.empty() && !is_empty)) continue;
    throw UsageError((option.positional ? command : "--" + option.name) + ": expected " +
                     option.required + ", got " + (option.words.size() > 1 ? "\"\"" : "none") +
                     (option.positional && arguments.empty()
                          ? "; usage: headscope " + usage_text(command, options)
                          : ""));
  }
  return true;
}

std::string usage_text(const std::string& command, const OptionTable& options) {
  std::string text = command;
  for (const Option& option : options.options()) {
    if (!option.required.empty()) text += " " + call_text(option);
    if (option.in_usage) text += " [" + call_text(option) + "]";
  }
  return text;
}

std::string help_text(const std::string& command, const OptionTable& options,
                      const std::string& purpose, const std::vector<std::string>& examples) {
  const Terminal& out = Terminal::out();
  std::string text = out.paragraph("Usage: headscope " + usage_text(command, options) +
                                       (options.options().empty() ? "" : " [OPTION...]"),
                                   "", "         ") +
                     "\n" + out.paragraph(sentence(purpose), "", "");
  std::string heading;
  const OptionTable all = with_help(options);
  for (const Option& option : all.options()) {
    if (option.positional) continue;
    const std::string option_heading = option.heading.empty() ? "Options" : option.heading;
    if (option_heading != heading) text += "\n" + out.bold(option_heading) + "\n";
    heading = option_heading;
    text += "  " + out.bold(names_text(option)) + "\n" +
            out.paragraph(option_help(option), "      ", "      ");
  }
  if (!examples.empty()) text += "\n" + out.bold("Examples") + "\n";
  for (const std::string& example : examples) {
    text += out.paragraph("headscope " + example, "  ", "      ");
  }
  return text;
}

}  // namespace headscope
