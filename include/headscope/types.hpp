#pragma once

#include <armadillo>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

/// Shapes, stated once.
///
/// Files are row-major: `[token, feature]`, Conv1D weights `[in, out]`. Armadillo is column-major,
/// so the same bytes are read with the axes reversed. Weights that a file holds as `[out, in]`
/// (torch.nn.Linear) are transposed once, when they are loaded.
///
///   activations   feature x token      one contiguous column per token
///   weights       out x in             Y = W * X
///   patterns      key x query          one contiguous column per query: a distribution over keys
///
/// Head h of a layer has d_head rows of the joint weights of queries, keys and values from
/// ModelConfig::q_row, k_row and v_row on (heads of a group share those of keys and values), and
/// columns [h * d_head, (h + 1) * d_head) of W_O.
namespace headscope {

using Index = arma::uword;
using Matrix = arma::fmat;
using Vector = arma::fvec;
using Cube = arma::fcube;
using TokenId = std::int32_t;
using TokenIds = std::vector<TokenId>;

/// A head, zero-based. Printed `L5H1`.
struct HeadIndex {
  Index layer = 0;
  Index head = 0;

  auto operator<=>(const HeadIndex&) const = default;
  /// The head at `flat`, layer * n_head + head.
  static HeadIndex of(Index flat, Index n_head) { return {flat / n_head, flat % n_head}; }
  Index flat(Index n_head) const { return layer * n_head + head; }
  std::string text() const;

  /// Reads `L5H1`. @throws OptionError on any other form.
  static HeadIndex parse(const std::string& text);
};

}  // namespace headscope
