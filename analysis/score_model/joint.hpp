#pragma once

#include <array>
#include <vector>

#include "score_model/effects.hpp"
#include "score_model/piece_models.hpp"

/// The loss when many heads at once run on the models of their attention.
namespace headscope {

/// What heads are replaced by: attention by its model with all features, or z by its mean.
inline constexpr std::size_t joint_score_model = 0, joint_mean = 1, n_joint_replacement = 2;
/// Shares of all heads that are replaced.
inline constexpr std::array<double, 5> joint_shares{0, 0.25, 0.5, 0.75, 1};

/// The heads (layer * n_head + head) that the model has not lost, in ascending order of how much
/// the loss rises when the head's attention alone is replaced by its model: by the sums of the pass
/// of ScoreEffects.
std::vector<Index> joint_order(const Statistics& statistics, const ModelConfig& config);

/// Runs documents with the first heads of the order replaced.
class JointReplacement {
 public:
  /// What the context refers to and `fits` outlive it.
  JointReplacement(const ScoreContext& context, const ScoreFits& fits, const Statistics& earlier);

  /// Adds a piece's losses: one forward pass for share 0 and one for each other share and
  /// replacement, those of a replacement as sequences of one batch.
  void add_losses(const Piece& piece, std::size_t block, DocumentStatistics& statistics);

  static std::uint64_t bytes(const ModelConfig& config, Index n_token, int n_thread);

 private:
  /// Whether a head is replaced at joint_shares[share].
  bool replaces(std::size_t share, Index layer, Index head) const;
  void replace_by_models(PieceModels& models, Index layer, const Matrix& qkv, Matrix& z) const;
  void replace_by_means(Index layer, Matrix& z) const;
  /// Losses of the shares above 0, summed over predicted tokens.
  std::vector<double> losses(const Piece& piece, const ForwardChange& change);

  const ScoreContext context_;
  const ModelConfig& config_;
  const ScoreFits& fits_;
  Forward forward_;
  Index n_ordered_;
  std::vector<Index> place_;    // by head, in the order; no_position for heads that are lost
  std::vector<Vector> mean_z_;  // by layer
};

/// Sums by block: of losses by replacement and share; of predicted tokens and documents.
inline constexpr const char *joint_loss_name = "score_joint_loss",
                            *joint_tokens_name = "score_joint_tokens",
                            *joint_documents_name = "score_joint_documents";

}  // namespace headscope
