#pragma once

#include <string_view>

namespace headscope {

/// data/literature/gpt2.json, embedded when the library is configured.
extern const std::string_view gpt2_literature;

}  // namespace headscope
