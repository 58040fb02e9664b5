#pragma once

#include <string>
#include <vector>

#include "option_table.hpp"

namespace headscope {

/// Reads arguments into the table's fields, then the file that an option `config` names, whose
/// lines `name = value` set what the arguments left open. Abbreviations are not guessed.
/// @return false when help was asked for; nothing is read then.
/// @throws UsageError, OptionError
bool parse_options(const std::string& command, const std::vector<std::string>& arguments,
                   OptionTable& options);

/// `merge SHARD... --output DIR`: the command with what must be given.
std::string usage_text(const std::string& command, const OptionTable& options);

/// Every option with its default, in groups; lines of at most 80 columns.
std::string help_text(const std::string& command, const OptionTable& options);

}  // namespace headscope
