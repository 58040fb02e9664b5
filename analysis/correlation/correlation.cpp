#include "correlation/correlation.hpp"

#include <algorithm>
#include <set>

#include "correlation/results.hpp"
#include "correlation/sums.hpp"
#include "headscope/random.hpp"
#include "headscope/resampling.hpp"
#include "parallel.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

const AnalysisInfo correlation_info{
    .name = "correlation",
    .title = "Head correlation",
    .purpose = "How alike the heads' outputs and attention are, within a layer and across layers.",
    .source =
        "Li et al. 2018, Multi-Head Attention with Disagreement Regularization; Kornblith et al. "
        "2019, Similarity of Neural Network Representations Revisited; Clark et al. 2019, What "
        "Does BERT Look At?",
    .passes = {"comparing heads"},
    .control_pass = 0,
};

/// Adds a matrix to the slice `index...` of an array.
template <typename... I>
void add_block(const arma::mat& values, Array& sums, I... index) {
  for (Index i = 0; i < values.n_rows; ++i) {
    for (Index j = 0; j < values.n_cols; ++j) sums(index..., i, j) += values(i, j);
  }
}

class Correlation : public Analysis {
 public:
  explicit Correlation(const AnalysisContext& context)
      : model_(context.model),
        settings_(context.settings),
        options_(context.settings.own<CorrelationOptions>()),
        n_unit_(context.model.config.n_layer * context.model.config.n_head) {
    for (const LayerWeights& layer : model_.layers) W_O_.push_back(&layer.W_O);
    n_document_ = context.corpus->n_document();
    spread_queries(*context.corpus);
  }

  bool wants_pattern(Index) const override { return true; }

  bool begin_piece(const Piece& piece, DocumentStatistics& statistics) override {
    block_ = document_block(piece.document, n_document_);
    if (piece.index == 0) statistics.sum("n_document", {n_document_block})(block_) += 1;
    // Position 0 is left out.
    if (piece.tokens.size() < 2) return false;
    z_.assign(model_.config.n_layer, Matrix());
    start_queries(piece);
    statistics.sum("n_token", {1})(0) += static_cast<double>(piece.tokens.size() - 1);
    return true;
  }

  void observe_layer(const LayerView& view, DocumentStatistics& statistics) override {
    const ModelConfig& config = model_.config;
    const Shape heads{config.n_layer, config.n_head, config.n_head};
    const HeadProducts z_products = head_space_products(view.z, config.n_head);
    add_block(z_products.total, block_sum(statistics, "head_total"), block_, view.layer);
    add_block(z_products.cosine, statistics.sum("head_cosine", heads), view.layer);
    const blas::ConstView V = blas::ConstView(view.qkv).rows(2 * config.d_model, config.d_model);
    add_block(head_space_products(V, config.n_head).total, statistics.sum("value_total", heads),
              view.layer);
    add_block(pattern_overlap(view.pattern), statistics.sum("overlap", heads), view.layer);
    add_covariance(view, statistics);
    if (options_.cosine_all) z_[view.layer] = view.z;
    const HeadProducts outputs = residual_space_products(view.z, *W_O_[view.layer], config.n_head);
    add_block(outputs.total, block_sum(statistics, "residual_total"), block_, view.layer);
    add_block(outputs.cosine, statistics.sum("residual_cosine", heads), view.layer);
    for (Query& query : queries_) {
      for (Index h = 0; h < config.n_head; ++h) {
        const float* const column = view.pattern.slice_colptr(h, query.position);
        std::copy(column, column + query.position + 1,
                  query.patterns.colptr(view.layer * config.n_head + h));
      }
    }
  }

  void end_piece(const PieceEnd&, DocumentStatistics& statistics) override {
    if (options_.cosine_all) {
      const arma::mat total = residual_space_totals(z_, W_O_, model_.config.n_head);
      add_block(total, statistics.sum("all_total", {n_unit_, n_unit_}));
    }
    for (const Query& query : queries_) add_distances(query, statistics);
    z_.clear();
    queries_.clear();
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    return {correlation_results(statistics, model_.config, settings_)};
  }

  std::vector<ResultsGroup> control_results(const Statistics& statistics) const override {
    return has_pairs(statistics) ? finish(statistics) : std::vector<ResultsGroup>();
  }

  ControlValues control_values(const Statistics& statistics) const override {
    return has_pairs(statistics) ? correlation_control_values(statistics) : ControlValues();
  }

  void compare(const Statistics& statistics, const std::vector<ControlValues>& controls,
               ResultsGroup& group) const override {
    if (!controls.front().empty()) add_control_comparison(statistics, controls, settings_, group);
  }

 private:
  /// Whether a document has a token beyond position 0.
  static bool has_pairs(const Statistics& statistics) { return statistics.has("head_total"); }

  /// A sampled query with every head's attention, keys 0 .. position x unit.
  struct Query {
    Index position;
    Matrix patterns;
  };

  /// A sum per block of documents: block x layer x head x head.
  Array& block_sum(DocumentStatistics& statistics, const char* name) const {
    const ModelConfig& config = model_.config;
    return statistics.sum(name, {n_document_block, config.n_layer, config.n_head, config.n_head});
  }

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

  /// Draws the piece's queries. They are weighted to represent all its queries, so that long pieces
  /// count for more.
  void start_queries(const Piece& piece) {
    queries_.clear();
    const Index n_query = piece.tokens.size() - 1;
    const bool one_more = with_one_more_.contains({piece.document, piece.index});
    const Index count = std::min<Index>(n_query, queries_each_ + (one_more ? 1 : 0));
    const CounterRandom of_document(CounterRandom(settings_.seed, 2).value(piece.document));
    const CounterRandom random(of_document.value(piece.index));
    for (const Index query : random_subset(n_query, count, random)) {
      queries_.push_back({1 + query, Matrix(2 + query, n_unit_, arma::fill::none)});
    }
    if (count > 0) query_weight_ = static_cast<double>(n_query) / static_cast<double>(count);
  }

  void add_covariance(const LayerView& view, DocumentStatistics& statistics) {
    const Index d_model = model_.config.d_model, n_layer = model_.config.n_layer;
    const blas::ConstView z = blas::ConstView(view.z).cols(1, view.n_token - 1);
    product_.set_size(d_model, d_model);
    blas::multiply(z, blas::Transpose::no, z, blas::Transpose::yes, product_);
    const std::vector<float> triangle = lower_triangle(product_);
    statistics.add("z_product", {n_layer, triangle.size()}, view.layer * triangle.size(), triangle);
    Array& sum = statistics.sum("z_sum", {n_layer, d_model});
    for (Index t = 1; t < view.n_token; ++t) {
      for (Index i = 0; i < d_model; ++i) sum(view.layer, i) += view.z(i, t);
    }
  }

  void add_distances(const Query& query, DocumentStatistics& statistics) const {
    Array& sums = statistics.sum("js_distance", {n_unit_, n_unit_});
    const Index n_key = query.position + 1;
    parallel_for(n_unit_, [&](Index i) {
      for (Index j = 0; j < i; ++j) {
        const double distance =
            js_distance(query.patterns.colptr(i), query.patterns.colptr(j), n_key);
        sums(i, j) += query_weight_ * distance;
        sums(j, i) += query_weight_ * distance;
      }
    });
    statistics.sum("js_weight", {1})(0) += query_weight_;
    statistics.sum("js_count", {1})(0) += 1;
  }

  const Model& model_;
  const AnalysisSettings& settings_;
  const CorrelationOptions& options_;
  Index n_unit_;
  std::uint64_t n_document_ = 0;
  std::vector<const Matrix*> W_O_;
  std::uint64_t queries_each_ = 0;  // sampled per piece
  std::set<std::pair<std::uint64_t, std::uint64_t>>
      with_one_more_;  // document and index of pieces with one query more

  Index block_ = 0;        // of documents
  std::vector<Matrix> z_;  // per layer, d_model x n_token; only for cosine_all
  std::vector<Query> queries_;
  double query_weight_ = 0;  // queries of the piece that each sampled one represents
  Matrix product_;
};

std::uint64_t memory(const RunShape& run) {
  const auto& options = run.settings.own<CorrelationOptions>();
  const ModelConfig& config = run.config;
  const std::uint64_t n_unit = run.n_unit(), pairs = n_unit * config.n_head,
                      all_pairs = n_unit * n_unit, d = config.d_model;
  std::uint64_t bytes = Statistics::sum_bytes * ((2 * n_document_block + 4) * pairs + n_unit) +
                        Statistics::added_bytes * config.n_layer * triangle_size(d) +
                        d * d * 2 * (sizeof(float) + sizeof(double));  // one layer's products
  if (options.cosine_all) {
    bytes += (Statistics::sum_bytes + 2 * sizeof(double)) * all_pairs +
             residual_space_bytes(config, run.n_token, run.n_thread);
  }
  if (options.js_queries > 0) {
    const std::uint64_t per_piece =
        options.js_queries / std::max<std::uint64_t>(1, run.n_document) + 1;
    bytes += Statistics::sum_bytes * all_pairs + per_piece * run.n_token * n_unit * sizeof(float);
  }
  return bytes;
}

}  // namespace

RegisteredAnalysis correlation_analysis() {
  return {correlation_info,
          [](const AnalysisContext& context) { return std::make_unique<Correlation>(context); },
          correlation_figures,
          correlation_presentation(),
          memory,
          &AnalysisSettings::declare_own<CorrelationOptions>};
}

}  // namespace headscope
