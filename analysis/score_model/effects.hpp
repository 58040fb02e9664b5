#pragma once

#include <memory>
#include <optional>
#include <set>

#include "headscope/ablation.hpp"
#include "score_model/collect.hpp"

/// What heads still do with their attention replaced by models of it.
namespace headscope {

/// Kinds of loss with one head replaced: below n_score_step, attention by the head's model of that
/// step; score_control, attention to keys >= 1 by the full model of the layer's next head, removed
/// heads left out; score_mean, z by its mean.
inline constexpr std::size_t score_control = n_score_step, score_mean = n_score_step + 1,
                             n_score_loss = n_score_step + 2;

/// Odd documents on which heads run with replaced attention, spread evenly: `single` for one head
/// at a time, `joint` for many heads at once. `joint` has other documents, as many if there are
/// enough.
struct EffectDocuments {
  EffectDocuments() = default;
  EffectDocuments(std::uint64_t n_document, std::uint64_t n_wanted, std::uint64_t seed);

  std::set<std::uint64_t> single, joint;
};

/// The query of a document where a head's attention is furthest from its model.
struct ScoreSurprise {
  double query = -1, key = -1;
  double divergence = 0;  ///< KL(A|A^), nats
};

/// Runs every head with its attention replaced, one at a time.
class ScoreEffects {
 public:
  /// What the context refers to and `fits` outlive it.
  ScoreEffects(const ScoreContext& context, const ScoreFits& fits, const Statistics& earlier,
               const AblationPrecision& precision);

  /// Adds a piece's losses, and of a document's first piece the surprises and the text.
  std::unique_ptr<PieceObserver> add_losses(const Piece& piece, std::size_t block,
                                            DocumentStatistics& statistics);

  static std::uint64_t bytes(const ModelConfig& config, Index n_token, int n_thread,
                             const Engines& engines);

 private:
  class Losses;

  const ScoreContext context_;
  const ScoreFits& fits_;
  HeadAblation ablation_;
  std::vector<Vector> mean_z_;  // by layer
  // By layer and head: the head of the layer whose control this head's model is. None where fewer
  // than two heads are left in the layer, and for removed heads.
  std::vector<std::vector<std::optional<Index>>> controlled_;
};

/// Names of the sums of losses: of a layer by block, head and kind; of the model as it is and of
/// predicted tokens and documents by block.
std::string score_loss_name(Index layer);
inline constexpr const char *score_clean_name = "score_clean",
                            *score_effect_tokens = "score_effect_tokens",
                            *score_effect_documents = "score_effect_documents";
/// Rows of the documents that heads run on.
inline constexpr const char* score_effect_row = "score_effect_row";
/// Record by layer, head and (query, key, divergence), and texts of its document.
inline constexpr const char *score_surprise_name = "score_surprise",
                            *score_text_name = "score_text";

}  // namespace headscope
