#pragma once

#include <string>
#include <vector>

#include "headscope/option_table.hpp"

namespace headscope {

/// Reads the arguments into the table's fields, then the file named by `--config`, whose lines
/// `name = value` set options that the arguments did not. Option names cannot be abbreviated.
/// @return false if help was asked for; no field is set then.
/// @throws UsageError, OptionError
bool parse_options(const std::string& command, const std::vector<std::string>& arguments,
                   OptionTable& options);

/// The command with its required options: `merge SHARD... --output DIR`.
std::string usage_text(const std::string& command, const OptionTable& options);

/// `--output DIR`, or `DIR` of a positional option.
std::string call_text(const Option& option);
/// The same with the letter before it: `-o, --output DIR`.
std::string names_text(const Option& option);

/// What the option does, with its default.
std::string option_help(const Option& option);

/// With a capital and a full stop.
std::string sentence(std::string text);

/// Every option with its default, in groups, as standard output shows text.
/// @param purpose   of the command, in a few words.
/// @param examples  of command lines, without the program's name.
std::string help_text(const std::string& command, const OptionTable& options,
                      const std::string& purpose, const std::vector<std::string>& examples);

}  // namespace headscope
