#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/golden.hpp"

/// Tiny models as Hugging Face writes them, of every architecture but GPT-2:
/// tests/data/make_architectures.py.
namespace headscope::test {

/// The folder of one.
inline std::string architecture_model(const std::string& name) {
  return data_path("architectures/" + name);
}

/// Their names, sorted.
inline std::vector<std::string> architecture_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(architecture_model(""))) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace headscope::test
