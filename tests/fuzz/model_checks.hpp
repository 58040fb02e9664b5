#pragma once

#include <string>

/// What holds for every file that the model reader accepts.
namespace headscope::fuzz {

/// Describes and loads a file; either may refuse. Of a model that loads, all numbers are finite,
/// shapes and counts agree, and saving and loading again gives the same one.
void check_model_file(const std::string& path, bool save_too);

}  // namespace headscope::fuzz
