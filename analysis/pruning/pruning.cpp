#include "pruning/pruning.hpp"

#include <algorithm>
#include <set>

#include "headscope/ablation.hpp"
#include "headscope/figure.hpp"
#include "headscope/gradient.hpp"
#include "headscope/random.hpp"
#include "pruning/direct_effects.hpp"
#include "pruning/passes/donors.hpp"
#include "pruning/passes/pruning_pass.hpp"
#include "pruning/results.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

const AnalysisInfo pruning_info{
    .name = "pruning",
    .title = "Head pruning",
    .purpose =
        "Measures the loss increase when a head is ablated, its first-order prediction, and how "
        "many heads can be pruned.",
    .source =
        "Michel et al. 2019, Are Sixteen Heads Really Better than One?; Voita et al. 2019, "
        "Analyzing Multi-Head Self-Attention",
    .passes = {"averaging heads", "ablating heads", "pruning heads"},
};

/// Streams of the samples of documents; donors use the streams numbered by document.
constexpr std::uint64_t sample_stream = std::uint64_t{1} << 62, ablated_stream = sample_stream + 1;

/// The documents whose heads are ablated, spread evenly over the sample.
std::set<Index> ablated_documents(const std::set<Index>& sample, Index count, std::uint64_t seed) {
  const std::vector<Index> documents(sample.begin(), sample.end());
  std::set<Index> ablated;
  for (const Index i :
       spread_sample(documents.size(), count, CounterRandom(seed, ablated_stream))) {
    ablated.insert(documents[i]);
  }
  return ablated;
}

class Pruning : public CorpusAnalysis {
 public:
  explicit Pruning(const AnalysisContext& context)
      : model_(context.model),
        corpus_(context.corpus),
        settings_(context.settings),
        compute_(context.compute),
        ablation_(context.model, compute_, settings_.ablation(context.model.config.d_vocab)),
        attribution_(context.model) {
    const std::uint64_t n_document = corpus_->n_document();
    const auto& options = settings_.options<PruningOptions>();
    sample_ = spread_sample(n_document, options.n_document_used(n_document),
                            CounterRandom(settings_.seed, sample_stream));
    ablated_ = ablated_documents(sample_, options.n_document_ablated(n_document), settings_.seed);
  }

  void begin_pass(int pass, const Statistics& earlier) override {
    pass_.reset();
    if (pass == 0) pass_ = averaging_pass(input());
    if (pass == 1) pass_ = ablating_pass(input(), attribution_, earlier);
    if (pass == 2) {
      curves_ = curve_masks(earlier, model_.config, settings_.seed);
      pass_ = curve_pass(input(), curves_);
    }
  }
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override {
    return pass_->begin_piece(piece, statistics);
  }

  PieceCost piece_cost(int pass, std::uint64_t document) const override {
    if (!sample_.contains(document)) return {.observes = pass == 2, .forward_passes = 0};
    if (pass == 0) return {.forward_passes = 0};
    // The gradient and the donors.
    const auto n_donor = static_cast<double>(settings_.options<PruningOptions>().n_donor);
    if (!ablated_.contains(document)) return {.forward_passes = pass == 1 ? 2 + n_donor : 0};
    if (pass == 2) {
      const std::size_t n_mask =
          curves_.masks.empty() ? n_curve_order * n_curve_step : curves_.masks.size();
      return {.forward_passes = static_cast<double>(n_mask)};
    }
    // Every ablation of each head runs from the head's layer on.
    const double n_head_total = static_cast<double>(model_.config.n_layer * model_.config.n_head);
    return {.forward_passes = 0.5 * n_head_total * (resample_row + n_donor) + 2 + n_donor};
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    return {pruning_results(statistics, model_.config, settings_)};
  }

 private:
  PruningInput input() {
    return {model_, *corpus_, settings_, compute_, ablation_, sample_, ablated_};
  }

  const Model& model_;
  const Corpus* corpus_;
  const AnalysisSettings& settings_;
  const ComputeContext compute_;
  HeadAblation ablation_;
  LogitAttribution attribution_;
  std::set<Index> sample_;   // documents whose gradients are taken
  std::set<Index> ablated_;  // of those, the documents whose heads are ablated
  CurveMasks curves_;        // from the third pass on
  std::unique_ptr<CorpusPass> pass_;
};

std::uint64_t memory(const RunShape& run) {
  const ModelConfig& config = run.config;
  const std::uint64_t n_head_total = run.n_head_total(), values = config.d_z() * run.n_token;
  const auto& options = run.settings.options<PruningOptions>();
  const std::uint64_t n_document = options.n_document_ablated(run.n_document);
  const bool has_gradient_only = n_document < options.n_document_used(run.n_document);
  // Sums of blocks of documents that are not ablated, and what results take from them.
  const std::uint64_t first_order_rows =
      has_gradient_only ? n_document_block * n_head_total *
                              (n_first_order * (Statistics::added_bytes + sizeof(double)) +
                               n_ablation_row * sizeof(double))
                        : 0;
  const std::uint64_t row = (2 * n_ablation_row + n_importance_row + 1) * n_head_total +
                            config.n_layer + n_direct_part + 2 * n_curve_step * n_curve_order +
                            n_precision_sample;
  // With the mean of z of one layer.
  const std::uint64_t direct =
      3 * values * sizeof(float) + (n_head_total + config.n_layer) * run.n_token * sizeof(double);
  const Engines engines = run.settings.engines;
  return HeadAblation::bytes(config, run.n_token, run.n_thread, engines,
                             run.settings.ablation(config.d_vocab).sample, has_gradient_only) +
         std::max(HeadGradient::bytes(config, run.n_token, run.n_thread, engines),
                  Forward::bytes(config, run.n_token, false)) +
         DonorZ::bytes(config, run.n_token, options.n_donor) + direct +
         n_curve_order * n_curve_step * n_head_total + first_order_rows +
         n_document * row * Statistics::row_bytes;
}

}  // namespace

RegisteredAnalysis pruning_analysis() {
  return registered<Pruning, PruningOptions>(pruning_info, pruning_figures, pruning_presentation(),
                                             memory);
}

}  // namespace headscope
