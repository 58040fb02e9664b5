#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "classification/types/head_type.hpp"
#include "corpus_pass.hpp"
#include "headscope/ablation.hpp"
#include "headscope/figure.hpp"

/// Does a head's label explain its effect? A head of a type runs with its attention replaced by the
/// type's place B, and what the loss keeps is compared with its mean ablation:
///
///   explained = 1 - (L_B - L) / (L_mean - L)
///
/// 1: the head does exactly what its label says; 0: the label is worth no more than the head's mean
/// output. The control is the same share with another type's place, at the queries for which the
/// label names a place. A third share (explained_where_said) replaces attention at these queries
/// alone and keeps it at all others, about which the label says nothing.
namespace headscope {

/// Kinds of loss: of the model as it is, with the head's mean output, with its attention on the
/// label's place, on that of another type, and on the label's only where the label names one.
enum ExplainedLoss {
  explained_clean,
  explained_mean,
  explained_label,
  explained_control,
  explained_where_said
};

inline constexpr std::size_t n_explained_loss = 5;

/// The third and the fourth pass: the typed heads of a model, run with replaced attention on a
/// sample of documents. The third averages each head's attention over the queries for which its
/// label names no place, and z; the fourth takes the losses.
class Explanation : public CorpusPass {
 public:
  /// @param group      classification's, with types.
  /// @param documents  the sample.
  /// @param earlier    the sums of the first two passes.
  Explanation(const Model& model, const Corpus& corpus, const HeadTypeList& types,
              const ResultsGroup& group, const std::set<Index>& documents,
              const Statistics& earlier);

  /// Losses that the fourth pass takes of a piece.
  std::size_t n_variant() const { return 3 * labels_.size() + labelled_heads_.size(); }

  /// Begins the fourth pass. @param earlier  with the sums of means.
  void begin_losses(const Statistics& earlier, const ComputeContext& context,
                    const AblationPrecision& precision);
  /// Adds a piece to the sums of means; in the fourth pass its losses to the sums
  /// explained_loss_name, in nats.
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;

  /// Bytes that it and its sums hold.
  static std::uint64_t bytes(const RunShape& run);

 private:
  class Losses;

  struct Label {
    std::string type;
    Index head_index;
    Place place, control;
    // Of queries without keys: mean attention by distance, and to position 0.
    std::vector<double> silent_row = {};
    double silent_sink = 1;
  };

  /// The keys of a label's place and of its control in a piece.
  struct LabelKeys {
    PlaceKeys keys, control_keys;
  };

  bool has_label(Index layer) const;
  void add_layer_means(const LayerView& view, const std::vector<LabelKeys>& keys,
                       DocumentStatistics& statistics) const;
  /// By label.
  std::vector<LabelKeys> keys_in(const PlaceSource& source) const;

  const Model& model_;
  const Corpus& corpus_;
  const std::set<Index>& documents_;
  const std::vector<double> token_counts_;
  std::vector<Label> labels_;
  std::set<Index> labelled_heads_;  // with a label
  // Of the fourth pass.
  bool takes_losses_ = false;
  std::optional<HeadAblation> ablation_;
  std::vector<Vector> mean_z_;  // by layer
};

/// The values of `explained_verdict`.
enum LabelVerdict { not_measured, unexplained, explained };

/// The name of the sums of losses, of dimensions block and ExplainedLoss.
std::string explained_loss_name(const std::string& type, Index head_index);
/// The name of a sum by PlaceSum.
std::string place_sums_name(const std::string& type, Index head_index);
enum PlaceSum : Index {
  place_mass,   ///< the head's attention to its label's place
  place_query,  ///< queries that have such a place
  place_same,   ///< those of them for which the control is the same place
  n_place_sum
};

/// Names of the sums, by block, of predicted tokens and of documents.
inline constexpr const char* explained_token_count = "explained_token";
inline constexpr const char* explained_document_count = "explained_document";

/// The control of a label: of the type's rivals, the previous token, the query and position 0 the
/// first that is not the label's place and whose type the head does not have; position 0 (the last
/// copy, where the label's place is position 0) if there is none.
/// @param types  all.
/// @param type   one that names a place.
Place control_place(const HeadTypeList& types, const HeadType& type, const ResultsGroup& group,
                    Index head_index);

/// Documents that the heads run on, spread evenly over the corpus. @param n_wanted  0: all.
std::set<Index> explained_sample(std::uint64_t n_document, std::uint64_t n_wanted,
                                 std::uint64_t seed);

/// Adds `explained` and its companions from the sums of losses, and a line of the summary; nothing
/// if no document was run.
/// @param group  with types.
void add_explained(const HeadTypeList& types, const Statistics& statistics,
                   const AnalysisSettings& settings, ResultsGroup& group);

/// Figure `labels_explained`: each label's share of its head's effect beside its control; nothing
/// if no label was measured.
std::optional<Figure> labels_explained_figure(const ResultsGroup& group);

/// How many labels explain what their head does; empty where nothing was replaced.
std::string explained_line(const ResultsGroup& group);

/// Whether the control of a label is the label's place at more than half of its queries. False in
/// results of version 1.0.0, which do not say so. @param label  type x layer x head, row-major.
bool is_mostly_control(const ResultsGroup& group, std::size_t label);

}  // namespace headscope
