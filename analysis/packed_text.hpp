#pragma once

#include <string>
#include <vector>

#include "headscope/array.hpp"

namespace headscope {

/// Texts as numbers, for a row of statistics: each text's length, then its bytes.
std::vector<double> packed_texts(const std::vector<std::string>& texts);

/// What packed_texts packed.
std::vector<std::string> unpacked_texts(const Array& row);

}  // namespace headscope
