#pragma once

#include <map>
#include <set>
#include <vector>

#include "classification/prototypes.hpp"
#include "headscope/ablation.hpp"
#include "headscope/figure.hpp"

/// Does a head's label explain its effect? A head of a type runs with its attention replaced by the
/// type's prototype B, and what the loss keeps is compared with its mean ablation:
///
///   explained = 1 - (L_B - L) / (L_mean - L)
///
/// 1: the head does exactly what its label says; 0: the label is worth no more than the head's mean
/// output. Its control is the same with another type's prototype at the queries of which the label
/// speaks. Beside it, attention is replaced at these queries alone, the head's own kept at others:
/// what a head does at tokens of which its label says nothing is then no fault of the label.
namespace headscope {

/// Kinds of loss: of the model as it is, with the head's mean output, with its label's prototype,
/// with that of another type, and with its label's only where the label speaks.
enum ExplainedLoss {
  explained_clean,
  explained_mean,
  explained_label,
  explained_control,
  explained_where_said
};
inline constexpr std::size_t n_explained_loss = 5;

/// The typed heads of a model, run with replaced attention: two passes over a sample of documents.
/// The first averages each head's attention over the queries of which its label says nothing, and
/// z; the second takes the losses.
class Explanation {
 public:
  /// @param group  classification's, with types.
  Explanation(const Model& model, const ResultsGroup& group);

  bool is_empty() const { return labels_.empty(); }
  /// Losses that the second pass takes of a piece.
  std::size_t n_variant() const { return 3 * labels_.size() + units_.size(); }

  /// Before the layers of a piece in either pass.
  void begin_piece(const PrototypeSource& source);

  /// First pass: adds to the sums of means. @param view  with pattern.
  void add_means(const LayerView& view, DocumentStatistics& statistics) const;

  /// Begins the second pass. @param earlier  with the sums of means.
  void begin_losses(const Statistics& earlier, const ComputeContext& context,
                    const AblationPrecision& precision);
  void observe_layer(const LayerView& view);
  /// Adds the piece's losses to the sums explained_loss_name of its document's block, in nats.
  void end_piece(Index block, DocumentStatistics& statistics);

  /// Bytes that it holds. @param n_label  labels of all heads.
  static std::uint64_t memory(const ModelConfig& config, Index n_token, std::uint64_t n_label,
                              int n_thread, const Engines& engines);

 private:
  struct Label {
    HeadType type;
    Index unit;
    Prototype prototype, control;
    PrototypeKeys keys = {}, control_keys = {};  // of the piece
    // Of queries without keys: mean attention by distance, and to position 0.
    std::vector<double> silent_row = {};
    double silent_sink = 1;
  };

  /// One replacement of a head's z: by its mean, or by that of another attention, which the loss
  /// named by its number stands for.
  struct Variant {
    Index head;
    ExplainedLoss loss = explained_mean;
    const Label* label = nullptr;

    const PrototypeKeys& keys() const {
      return loss == explained_control ? label->control_keys : label->keys;
    }
  };

  bool has_label(Index layer) const;
  std::vector<Variant> variants_of(Index layer) const;
  std::vector<TokenLoss> losses(Index layer, const std::vector<Variant>& variants);

  const Model& model_;
  std::vector<Label> labels_;
  std::set<Index> units_;  // with a label
  TokenIds tokens_;        // of the piece
  // Of the second pass.
  std::optional<HeadAblation> ablation_;
  std::vector<Vector> mean_z_;  // by layer; empty without labels
  std::vector<Matrix> values_;  // by layer, d_model x n_token; empty without labels
  std::vector<Matrix> z_;       // likewise
};

/// The name of the sums of losses, of dimensions block and ExplainedLoss.
std::string explained_loss_name(HeadType type, Index unit);
/// The name of the sums of the head's attention to its label's place and of the queries of which
/// the label speaks.
std::string place_mass_name(HeadType type, Index unit);
/// Names of the sums, by block, of predicted tokens and of documents.
inline constexpr const char* explained_token_count = "explained_token";
inline constexpr const char* explained_document_count = "explained_document";

/// Documents that the heads run on, spread evenly over the corpus. @param n_wanted  0: all.
std::set<Index> explained_sample(std::uint64_t n_document, std::uint64_t n_wanted,
                                 std::uint64_t seed);

/// Adds `explained` and its companions from the sums of losses, and a line of the summary; nothing
/// if no document was run.
/// @param group  with types.
void add_explained(const Statistics& statistics, std::size_t n_bootstrap, std::uint64_t seed,
                   ResultsGroup& group);

/// Figure `labels_explained`: each label's share of its head's effect beside its control; nothing
/// if no label was measured.
std::optional<Figure> labels_explained_figure(const ResultsGroup& group);

/// How many labels explain what their head does; empty where nothing was replaced.
std::string explained_line(const ResultsGroup& group);

}  // namespace headscope
