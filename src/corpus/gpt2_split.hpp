#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/unicode_pattern.hpp"

namespace headscope {

/// The parts of a text by GPT-2's pattern, which leaves nothing between them.
class Gpt2Split {
 public:
  /// @param text  valid UTF-8; outlives this object.
  explicit Gpt2Split(std::string_view text) : text_(text) {}

  /// The end of the part that begins at `begin`.
  std::size_t part_end(std::size_t begin);

 private:
  std::string_view text_;
  std::optional<UnicodePattern::Search> search_;  // made when ASCII does not decide
};

}  // namespace headscope
