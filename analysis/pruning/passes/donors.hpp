#pragma once

#include <vector>

#include "headscope/gradient.hpp"
#include "pruning/passes/pruning_pass.hpp"

namespace headscope {

/// A piece of an ablated document, whose z can replace another's.
struct Donor {
  std::uint64_t document, index;
  Index n_token;
};

/// All pieces of ablated documents that have at least two tokens.
std::vector<Donor> donors_of(const PruningInput& input);

/// What resampling z needs; the same for all pieces.
struct DonorInput : PruningInput {
  std::vector<Donor> donors;
};

/// What replaces the z of a piece when it is resampled: z of other documents at the same positions,
/// `--resample-donors` times.
///
/// The pieces of all other documents are in a seeded order. Of each document the first piece that
/// reaches a position is a donor of the position; the k-th donor is the k-th of these. Where they
/// are fewer, they take turns; positions that none reaches keep the piece's own z.
class DonorZ {
 public:
  /// Runs the donors through the model.
  DonorZ(const DonorInput& input, const Piece& piece);

  /// Of one piece.
  static std::uint64_t bytes(const ModelConfig& config, Index n_token, std::uint64_t n_donor);

  /// Takes the piece's z at the positions that no donor reaches.
  void fill_positions_without_donor(const LayerView& view);

  /// Donors of a position, at most the number of other documents that were ablated.
  std::size_t size() const { return z_.size(); }
  /// d_z x n_token, replacement `donor` of a layer's z.
  const Matrix& z(std::size_t donor, Index layer) const { return z_[donor][layer]; }
  /// Mean over donors of z.g, g the gradient by the piece's z: n_head x n_token. Empty without
  /// donors.
  arma::mat z_dot_gradient(const LayerGradient& gradient, Index n_head) const;

 private:
  using Layers = std::vector<Matrix>;
  /// Whether a position has room for a donor of this document.
  bool takes(Index position, std::uint64_t document) const;
  void collect(const DonorInput& input, std::span<const Donor> in_order);
  /// Where fewer donors reach a position than there are replacements, uses them in turn.
  void reuse_donors();

  std::vector<Layers> z_;
  std::vector<std::vector<std::uint64_t>> filled_;  // by position: documents of its donors
};

/// Adds the variances of the means over donors, of each head and of the sum over heads; or, if
/// there are fewer than two donors, to the number of pieces that have no variance.
/// @param losses  of a piece with each head's z resampled: head x donor, nats summed over the
/// piece.
void add_donor_variances(const arma::mat& losses, DocumentStatistics& statistics);

}  // namespace headscope
