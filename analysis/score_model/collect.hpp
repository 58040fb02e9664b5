#pragma once

#include <map>
#include <set>

#include "score_model/piece_models.hpp"

/// What models of attention scores need of the corpus, as statistics: two passes.
namespace headscope {

/// Documents whose queries are sampled, and how many of each.
class QuerySample {
 public:
  /// The queries of one half, even or odd documents.
  struct Half {
    std::uint64_t n_document = 0;  ///< that are sampled
    std::uint64_t n_query = 0;     ///< of each of them; a document may have fewer
  };
  /// @param n_document  of the half.
  /// @param n_wanted    queries of the half; rounded up to a multiple of its documents.
  static Half half(std::uint64_t n_document, std::uint64_t n_wanted);

  QuerySample() = default;
  QuerySample(std::uint64_t n_document, std::uint64_t n_query, std::uint64_t seed);

  bool has(std::uint64_t document) const { return documents_.contains(document); }
  /// First pass: counts the queries q >= 2 of a sampled document.
  void count(const Piece& piece, DocumentStatistics& statistics) const;
  /// Takes what `count` added, of all documents.
  void use_counts(const Statistics& earlier);
  /// Second pass: the sampled queries of a piece, ascending; none of a document that is not
  /// sampled. They are drawn from those of all pieces of the document.
  std::vector<Index> queries_of(const Piece& piece, DocumentStatistics& statistics) const;

 private:
  std::set<std::uint64_t> documents_;
  std::map<std::uint64_t, Index> n_query_;  ///< q >= 2 of a document; after the first pass
  std::uint64_t n_even_ = 0, n_odd_ = 0;    ///< sampled queries of a document
  std::uint64_t seed_ = 0;
};

/// First pass: adds a piece's tokens, arcs and annotation.
void count_score_tokens(const Piece& piece, const ModelConfig& config,
                        DocumentStatistics& statistics);

CorpusTraits score_traits(const Statistics& statistics);
std::vector<double> score_token_counts(const Statistics& statistics);

/// Second pass: keeps the features of a piece's sampled queries, and adds what heads attend to.
class ScoreCollector : public PieceObserver {
 public:
  /// @param queries  not empty.
  ScoreCollector(const ScoreContext& context, const Piece& piece, const PieceQueries& queries,
                 std::size_t block, DocumentStatistics& statistics);

  bool wants_pattern(Index /*layer*/) const override { return true; }
  void observe_layer(const LayerView& view) override;

  static std::uint64_t bytes(const ModelConfig& config, Index n_token, std::size_t n_feature);

 private:
  const ModelConfig& config_;
  const FeatureList& features_;
  std::size_t block_;
  bool is_odd_;
  std::string sink_name_;
  DocumentStatistics& statistics_;
  PieceModels models_;
};

/// Name of the sums of z that add_score_means adds, for mean_z.
inline constexpr const char* score_z_name = "score_z";

/// Second pass: adds the sums of a piece's z, with queries or without.
/// @param collector  of the piece's sampled queries; null: it has none.
std::unique_ptr<PieceObserver> add_score_means(std::unique_ptr<PieceObserver> collector,
                                               Index n_layer, DocumentStatistics& statistics);

/// What the second pass kept.
ScoreData score_data(const Statistics& statistics, const Model& model, const FeatureList& features);

/// The first token of the run, as every piece begins; none if the pieces begin with text.
std::optional<TokenId> score_first_token(const Statistics& statistics);

}  // namespace headscope
