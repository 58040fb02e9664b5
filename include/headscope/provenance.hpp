#pragma once

#include <string>

#include "headscope/model.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// The text, or, if it is not UTF-8, the text with its bytes escaped: `caf\xE9`.
std::string recorded_text(const std::string& text);

/// Adds what made the results: title, version and date.
void add_program(Results& results, const std::string& title);

/// What the documents begin with, without the reason in brackets; empty if it is not recorded.
std::string first_token_of(const Results& results);

/// Adds which model it was, and its shape.
void add_model(Results& results, const Model& model);

}  // namespace headscope
