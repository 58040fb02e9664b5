#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// The number of layers and heads in the results. A head's index is layer * n_head + head.
struct HeadShape {
  std::size_t n_layer = 0, n_head = 0;

  bool operator==(const HeadShape&) const = default;
  std::size_t n_head_total() const { return n_layer * n_head; }
  std::string text(std::size_t head_index) const;  ///< `L5H1`
};

/// From the first group that has a variable by layer and head; nothing if none has.
std::optional<HeadShape> head_shape(const Results& results);

/// By head, whether the model that was run has lost the head. The results hold values at the head's
/// place all the same, those of a head without output.
std::vector<bool> removed_heads(const Results& results, const HeadShape& shape);

/// A flag by type, layer and head: which types a head is of. A group of results that has the flag
/// also has the main type of each head, a flag by layer and head.
inline constexpr const char *type_variable = "type", *primary_type_variable = "primary";

/// Which head is of which type.
struct HeadTypes {
  std::vector<std::string> names;
  std::vector<std::vector<bool>> has_type;          ///< by head, then type
  std::vector<std::optional<std::size_t>> primary;  ///< by head
};
/// From the first group that has both variables; nothing if none does.
std::optional<HeadTypes> head_types(const Results& results);

}  // namespace headscope
