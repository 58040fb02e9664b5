#include "correlation/correlation.hpp"

#include <algorithm>
#include <set>

#include "base/thread_errors.hpp"
#include "correlation/results.hpp"
#include "correlation/sums.hpp"
#include "head_values.hpp"
#include "headscope/figure.hpp"
#include "headscope/random.hpp"
#include "headscope/resampling.hpp"
#include "mean_z.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

const AnalysisInfo correlation_info{
    .name = "correlation",
    .title = "Head correlation",
    .purpose =
        "Measures how alike the outputs and the attention of heads are, within a layer and across "
        "layers.",
    .source =
        "Li et al. 2018, Multi-Head Attention with Disagreement Regularization; Kornblith et al. "
        "2019, Similarity of Neural Network Representations Revisited; Clark et al. 2019, What "
        "Does BERT Look At?",
    .passes = {"comparing heads"},
    .control_pass = 0,
};

/// As many numbers, or up to 15 more, as fill vector registers: the rest of a loop is slower.
Index whole_vectors(Index n) {
  return (n + 15) / 16 * 16;
}

/// Adds a matrix to the slice `index...` of an array.
template <typename... I>
void add_block(const arma::mat& values, Array& sums, I... index) {
  for (Index i = 0; i < values.n_rows; ++i) {
    for (Index j = 0; j < values.n_cols; ++j) sums(index..., i, j) += values(i, j);
  }
}

class Correlation : public CorpusAnalysis {
 public:
  explicit Correlation(const AnalysisContext& context)
      : model_(context.model),
        settings_(context.settings),
        options_(context.settings.options<CorrelationOptions>()),
        n_head_total_(context.model.config.n_layer * context.model.config.n_head) {
    for (const LayerWeights& layer : model_.layers) W_O_.push_back(&layer.W_O);
    n_document_ = context.corpus->n_document();
    spread_queries(*context.corpus);
  }

  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    ResultsGroup group = correlation_results(statistics, model_.config, settings_);
    if (!untrained_.empty() && !untrained_.front().empty()) {
      add_control_comparison(statistics, untrained_, model_.config, settings_, group);
    }
    return {std::move(group)};
  }

  std::vector<ResultsGroup> control_results(const Statistics& statistics) const override {
    return has_pairs(statistics) ? finish(statistics) : std::vector<ResultsGroup>();
  }

  ControlValues control_values(const Statistics& statistics) const override {
    return has_pairs(statistics) ? correlation_control_values(statistics) : ControlValues();
  }

  void use_controls(const Controls& controls) override { untrained_ = controls.untrained; }

 private:
  /// Whether a document has a token beyond position 0.
  static bool has_pairs(const Statistics& statistics) { return statistics.has("head_total"); }

  class Observer;

  /// Divides the sampled queries evenly among the pieces of all documents; the remainder goes to
  /// pieces spread evenly over the corpus.
  void spread_queries(const Corpus& corpus) {
    queries_each_ = options_.js_queries / corpus.n_piece();
    const std::set<Index> numbers = spread_sample(
        corpus.n_piece(), options_.js_queries % corpus.n_piece(), CounterRandom(settings_.seed, 1));
    auto number = numbers.begin();
    std::uint64_t first = 0;  // piece of the document, in the corpus
    for (std::uint64_t document = 0; number != numbers.end(); ++document) {
      const std::uint64_t end = first + corpus.n_piece(document);
      for (; number != numbers.end() && *number < end; ++number) {
        with_one_more_.emplace(document, *number - first);
      }
      first = end;
    }
  }

  const Model& model_;
  const AnalysisSettings& settings_;
  const CorrelationOptions& options_;
  Index n_head_total_;
  std::uint64_t n_document_ = 0;
  std::vector<const Matrix*> W_O_;
  std::uint64_t queries_each_ = 0;  // sampled per piece
  std::set<std::pair<std::uint64_t, std::uint64_t>>
      with_one_more_;                     // document and index of pieces with one query more
  std::vector<ControlValues> untrained_;  // empty during the passes
};

/// Adds what one piece contributes.
class Correlation::Observer : public PieceObserver {
 public:
  /// @param block  of the piece's document.
  Observer(const Correlation& analysis, const Piece& piece, Index block,
           DocumentStatistics& statistics)
      : analysis_(analysis),
        config_(analysis.model_.config),
        statistics_(statistics),
        block_(block),
        z_(config_.n_layer) {
    draw_queries(piece);
  }

  bool wants_pattern(Index /*layer*/) const override { return true; }

  void observe_layer(const LayerView& view) override {
    const Shape heads{config_.n_layer, config_.n_head, config_.n_head};
    const Matrix& W_O = *analysis_.W_O_[view.layer];
    const HeadProducts z_products = head_space_products(view.z, config_.n_head);
    add_block(z_products.total, block_sum("head_total"), block_, view.layer);
    add_block(z_products.cosine, statistics_.sum("head_cosine", heads), view.layer);
    Matrix values;
    const blas::ConstView V = head_values(config_, view.qkv, values);
    add_block(head_space_products(V, config_.n_head).total, statistics_.sum("value_total", heads),
              view.layer);
    add_block(pattern_overlap(view.pattern), statistics_.sum("overlap", heads), view.layer);
    add_covariance(view);
    if (analysis_.options_.cosine_all) z_[view.layer] = view.z;
    const HeadProducts outputs = residual_space_products(view.z, W_O, config_.n_head);
    add_block(outputs.total, block_sum("residual_total"), block_, view.layer);
    add_block(outputs.cosine, statistics_.sum("residual_cosine", heads), view.layer);
    for (Query& query : queries_) {
      for (Index h = 0; h < config_.n_head; ++h) {
        const float* const column = view.pattern.slice_colptr(h, query.position);
        std::copy(column, column + query.position + 1,
                  query.patterns.colptr(view.layer * config_.n_head + h));
      }
    }
  }

  void end(const PieceEnd& /*end*/) override {
    const Index n_head_total = analysis_.n_head_total_;
    if (analysis_.options_.cosine_all) {
      const arma::mat total = residual_space_totals(z_, analysis_.W_O_, config_.n_head);
      add_block(total, statistics_.sum("all_total", {n_head_total, n_head_total}));
    }
    for (const Query& query : queries_) add_distances(query);
  }

 private:
  /// A sampled query with every head's attention, keys 0 .. position and zeros x head_index.
  struct Query {
    Index position;
    Matrix patterns;
  };

  /// A sum per block of documents: block x layer x head x head.
  Array& block_sum(const char* name) const {
    return statistics_.sum(name,
                           {n_document_block, config_.n_layer, config_.n_head, config_.n_head});
  }

  /// The queries are weighted to represent all of the piece, so that long pieces count for more.
  void draw_queries(const Piece& piece) {
    const Index n_query = piece.tokens.size() - 1;
    const bool one_more = analysis_.with_one_more_.contains({piece.document, piece.index});
    const Index count = std::min<Index>(n_query, analysis_.queries_each_ + (one_more ? 1 : 0));
    const CounterRandom of_document(
        CounterRandom(analysis_.settings_.seed, 2).value(piece.document));
    const CounterRandom random(of_document.value(piece.index));
    for (const Index query : random_subset(n_query, count, random)) {
      queries_.push_back({1 + query, Matrix(whole_vectors(2 + query), analysis_.n_head_total_)});
    }
    if (count > 0) query_weight_ = static_cast<double>(n_query) / static_cast<double>(count);
  }

  void add_covariance(const LayerView& view) {
    const std::vector<double> triangle =
        product_triangle(blas::ConstView(view.z).cols(1, view.n_token - 1));
    statistics_.add(z_product_name(view.layer), {triangle.size()}, 0, triangle);
    add_z(view, statistics_.sum("z_sum", {config_.n_layer, config_.d_z()}));
  }

  void add_distances(const Query& query) const {
    const Index n_head_total = analysis_.n_head_total_, n_key = query.patterns.n_rows;
    Array& sums = statistics_.sum("js_distance", {n_head_total, n_head_total});
    for_each_in_parallel(n_head_total, [&](Index i) {
      for (Index j = 0; j < i; ++j) {
        const double distance =
            js_distance(query.patterns.colptr(i), query.patterns.colptr(j), n_key);
        sums(i, j) += query_weight_ * distance;
        sums(j, i) += query_weight_ * distance;
      }
    });
    statistics_.sum("js_weight", {1})(0) += query_weight_;
    statistics_.sum("js_count", {1})(0) += 1;
  }

  const Correlation& analysis_;
  const ModelConfig& config_;
  DocumentStatistics& statistics_;
  Index block_;
  std::vector<Matrix> z_;  // per layer, d_z x n_token; only for cosine_all
  std::vector<Query> queries_;
  double query_weight_ = 0;  // queries of the piece that each sampled one represents
};

std::unique_ptr<PieceObserver> Correlation::begin_piece(const Piece& piece,
                                                        DocumentStatistics& statistics) {
  const Index block = document_block(piece.document, n_document_);
  if (piece.index == 0) statistics.sum("n_document", {n_document_block})(block) += 1;
  // Position 0 is left out.
  if (piece.tokens.size() < 2) return nullptr;
  statistics.sum("n_token", {1})(0) += static_cast<double>(piece.tokens.size() - 1);
  return std::make_unique<Observer>(*this, piece, block, statistics);
}

std::uint64_t memory(const RunShape& run) {
  const auto& options = run.settings.options<CorrelationOptions>();
  const ModelConfig& config = run.config;
  const std::uint64_t n_head_total = run.n_head_total(), pairs = n_head_total * config.n_head,
                      all_pairs = n_head_total * n_head_total, d = config.d_z();
  std::uint64_t bytes =
      Statistics::sum_bytes *
          ((2 * n_document_block + 4) * pairs + config.n_layer * d + n_document_block) +
      (Statistics::added_bytes - sizeof(double)) * config.n_layer * triangle_size(d) +
      d * d * (2 * sizeof(float) + 3 * sizeof(double)) +  // one layer's products
      run.n_token * d * sizeof(float);
  if (options.cosine_all) {
    bytes += (Statistics::sum_bytes + 2 * sizeof(double)) * all_pairs +
             residual_space_bytes(config, run.n_token, run.n_thread);
  }
  if (options.js_queries > 0) {
    const std::uint64_t per_piece =
        options.js_queries / std::max<std::uint64_t>(1, run.n_document) + 1;
    bytes += Statistics::sum_bytes * all_pairs +
             per_piece * whole_vectors(run.n_token) * n_head_total * sizeof(float);
  }
  return bytes;
}

}  // namespace

RegisteredAnalysis correlation_analysis() {
  return registered<Correlation, CorrelationOptions>(correlation_info, correlation_figures,
                                                     correlation_presentation(), memory);
}

}  // namespace headscope
