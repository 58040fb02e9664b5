#pragma once

#include <string>

#include "headscope/inspect.hpp"

namespace headscope {

/// Prints a model's shape, what of it the file holds, how fast the engines are at its shape on this
/// machine where the file has weights, and the memory that runs of it take.
/// @param path  of the model file.
void print_model(const ModelDescription& model, const std::string& path);

}  // namespace headscope
