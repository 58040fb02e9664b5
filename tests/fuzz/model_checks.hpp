#pragma once

#include <string>

/// Checks of every file that the model reader accepts.
namespace headscope::fuzz {

/// Describes and loads a file; either may be refused. Requires of a loaded model that all numbers
/// are finite, shapes and counts agree, and, with `save_too`, saving and loading give it unchanged.
void check_model_file(const std::string& path, bool save_too);

}  // namespace headscope::fuzz
