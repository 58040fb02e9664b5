#pragma once

#include "headscope/option_table.hpp"

/// Options that several commands have, each declared once.
namespace headscope {

Option& add_model(OptionTable& option, std::string& field, const std::string& help);
Option& add_n_head(OptionTable& option, std::uint64_t& field);
Option& add_tokenizer(OptionTable& option, std::string& field);
Option& add_encoding(OptionTable& option, std::string& field);
Option& add_output(OptionTable& option, std::string& field);
Option& add_figures(OptionTable& option, std::vector<std::string>& field);
Option& add_threads(OptionTable& option, std::uint64_t& field);
Option& add_quiet(OptionTable& option, bool& field);

}  // namespace headscope
