#pragma once

#include <type_traits>

#include "headscope/option_table.hpp"

/// Options that several commands have, each declared once.
namespace headscope {

/// Adds a required argument without a name; a field of several values takes one or more.
/// @param value     its placeholder in the help.
/// @param required  what is expected: `a model`.
template <typename Field>
void add_positional(OptionTable& option, Field& field, const std::string& name,
                    const std::string& value, const std::string& required) {
  option(field, {.name = name,
                 .value = value,
                 .required = required,
                 .several = !std::is_same_v<Field, std::string>,
                 .positional = true});
}

void add_model(OptionTable& option, std::string& field, const std::string& help);
void add_n_head(OptionTable& option, std::uint64_t& field);
void add_tokenizer(OptionTable& option, std::string& field);
enum class FirstTokenOf { corpus, sentence };
/// `--bos` and `--no-bos`.
void add_first_token(OptionTable& option, FirstTokenOf of, std::string& bos, bool& prepend_bos);
void add_encoding(OptionTable& option, std::string& field);
void add_output(OptionTable& option, std::string& field);
void add_figures(OptionTable& option, std::vector<std::string>& field);
void add_threads(OptionTable& option, std::uint64_t& field);
void add_force(OptionTable& option, bool& field);
void add_quiet(OptionTable& option, bool& field);

}  // namespace headscope
