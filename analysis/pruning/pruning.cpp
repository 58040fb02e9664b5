#include "pruning/pruning.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "headscope/ablation.hpp"
#include "headscope/gradient.hpp"
#include "headscope/memory.hpp"
#include "headscope/random.hpp"
#include "pruning/orders.hpp"
#include "pruning/results.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

const AnalysisInfo pruning_info{
    .name = "pruning",
    .title = "Head pruning",
    .purpose =
        "The loss when a head is ablated, its first-order prediction, and how many heads can go.",
    .source =
        "Michel et al. 2019, Are Sixteen Heads Really Better than One?; Voita et al. 2019, "
        "Analyzing Multi-Head Self-Attention",
    .n_pass = 3,
};

/// Keeps the z of every layer of one document.
class KeepZ : public LayerObserver {
 public:
  void observe_layer(const LayerView& view) override { z.push_back(view.z); }
  std::vector<Matrix> z;  ///< per layer, d_model x n_token
};

/// Pass 0 sums z for its mean and records lengths; pass 1 ablates every head and takes the
/// gradient; pass 2 prunes in the orders found by pass 1.
class Pruning : public Analysis {
 public:
  explicit Pruning(const AnalysisContext& context)
      : model_(context.model),
        corpus_(context.corpus),
        settings_(context.settings),
        ablation_(context.model, context.packed),
        gradient_(context.model),
        donor_forward_(context.model) {}

  void begin_pass(int pass, const Statistics& earlier) override {
    pass_ = pass;
    if (pass == 1) prepare_ablation(earlier);
    if (pass == 2) plan_curves(earlier);
  }

  bool begin_document(const Document& document, DocumentStatistics&) override {
    if (document.index >= n_document_used() || document.tokens.size() < 2) return false;
    document_ = document.index;
    tokens_ = document.tokens;
    donor_z_.clear();
    if (pass_ == 1) collect_donor_z();
    return true;
  }

  double forward_passes(std::uint64_t document) const override {
    if (document >= n_document_used() || pass_ == 0) return 0;
    if (pass_ == 2) return static_cast<double>(masks_.size());
    // Every ablation of each head runs from the head's layer on; then the gradient.
    const double n_unit = static_cast<double>(model_.config.n_layer * model_.config.n_head);
    return 0.5 * n_unit * n_ablation_row + 3;
  }

  void observe_layer(const LayerView& view, DocumentStatistics& statistics) override {
    if (pass_ == 0) add_mean_z(view, statistics);
    if (pass_ == 0) return;
    ablation_.observe_layer(view);
    if (!donor_z_.empty() && donor_length_ < view.n_token) {
      donor_z_[view.layer].cols(donor_length_, view.n_token - 1) =
          view.z.cols(donor_length_, view.n_token - 1);
    }
  }

  void end_document(const DocumentEnd&, DocumentStatistics& statistics) override {
    if (pass_ == 0) {
      statistics.row("length", {1})(0) = static_cast<double>(tokens_.size());
      return;
    }
    if (pass_ == 2) {
      prune(statistics);
      return;
    }
    const TokenLoss& loss = ablation_.clean_loss(Pack::of_document(tokens_));
    Array& row = statistics.row("baseline", {2});
    row(0) = loss.sum();
    row(1) = static_cast<double>(loss.nll.size());
    ablate(statistics);
    add_importance(statistics);
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    return {pruning_results(statistics, model_.config, settings_)};
  }

 private:
  std::uint64_t n_document_used() const {
    return settings_.own<PruningOptions>().n_document_used(corpus_->n_document());
  }

  // Pass 0 ----------------------------------------------------------------------------------------

  void add_mean_z(const LayerView& view, DocumentStatistics& statistics) {
    const Index d_model = model_.config.d_model;
    Array& sum = statistics.sum("z", {model_.config.n_layer, d_model});
    for (Index t = 1; t < view.n_token; ++t) {
      for (Index i = 0; i < d_model; ++i) sum(view.layer, i) += view.z(i, t);
    }
    if (view.layer == 0) {
      statistics.sum("z_count", {1})(0) += static_cast<double>(view.n_token - 1);
    }
  }

  // Pass 1 ----------------------------------------------------------------------------------------

  /// Reads mean z and the documents' lengths from pass 0.
  void prepare_ablation(const Statistics& earlier) {
    const ModelConfig& config = model_.config;
    mean_z_.assign(config.n_layer, Vector(config.d_model, arma::fill::zeros));
    lengths_.clear();
    if (!earlier.has("z")) return;
    const Array sum = earlier.total("z");
    const double count = earlier.total("z_count")(0);
    for (Index l = 0; l < mean_z_.size(); ++l) {
      for (Index i = 0; i < config.d_model; ++i) {
        mean_z_[l](i) = static_cast<float>(sum(l, i) / count);
      }
    }
    for (const auto& [document, length] : earlier.rows("length")) {
      lengths_.emplace_back(document, static_cast<Index>(length(0)));
    }
  }

  /// Fills donor_z_ with z of other documents at the same positions. Donors are visited in a seeded
  /// order; each fills the positions beyond the end of earlier donors. Positions that no donor
  /// reaches keep the document's own z.
  void collect_donor_z() {
    const Index n_token = tokens_.size();
    donor_length_ = 0;
    auto others = lengths_;
    std::erase_if(others, [&](const auto& other) { return other.first == document_; });
    for (const Index choice : permutation(
             others.size(), CounterRandom(CounterRandom(settings_.seed, document_).value(0)))) {
      if (donor_length_ == n_token) break;
      const auto& [donor, length] = others[choice];
      if (length <= donor_length_) continue;
      KeepZ kept;
      LayerObserver* const observers[] = {&kept};
      donor_forward_.run(corpus_->document(donor).tokens, observers);
      const Index reach = std::min<Index>(n_token, kept.z[0].n_cols);
      if (donor_z_.empty()) {
        donor_z_.assign(model_.config.n_layer,
                        Matrix(model_.config.d_model, n_token, arma::fill::zeros));
      }
      for (Index l = 0; l < donor_z_.size(); ++l) {
        donor_z_[l].cols(donor_length_, reach - 1) = kept.z[l].cols(donor_length_, reach - 1);
      }
      donor_length_ = reach;
    }
  }

  void ablate(DocumentStatistics& statistics) {
    const ModelConfig& config = model_.config;
    const Index n_head = config.n_head, n_token = tokens_.size();
    std::vector<HeadVariant> variants;
    for (Index l = 0; l < config.n_layer; ++l) {
      const blas::ConstView mean(mean_z_[l].memptr(), config.d_model, n_token, 0);
      for (Index h = 0; h < n_head; ++h) {
        std::vector<Index> others(n_head);
        std::iota(others.begin(), others.end(), 0);
        std::erase(others, h);
        variants.push_back({l, {h}});
        variants.push_back({l, {h}, mean});
        variants.push_back({l, std::move(others)});
        if (!donor_z_.empty()) variants.push_back({l, {h}, donor_z_[l]});
      }
    }
    const std::vector<TokenLoss> losses = ablation_.losses(tokens_, variants);
    Array& rows = statistics.row("ablated", {n_ablation_row, config.n_layer, n_head});
    if (settings_.engine() != Engine::float32) sample_float32(variants, statistics);
    auto loss = losses.begin();
    for (Index l = 0; l < config.n_layer; ++l) {
      for (Index h = 0; h < n_head; ++h) {
        for (std::size_t row = 0; row < n_ablation_row; ++row) {
          const bool has_donor = row != resample_row || !donor_z_.empty();
          rows(row, l, h) = has_donor ? (loss++)->sum() : std::nan("");
        }
      }
    }
  }

  /// Zero ablation of a sample of heads by float32 products.
  /// @param variants  of which the zero ablations are chosen.
  void sample_float32(const std::vector<HeadVariant>& variants, DocumentStatistics& statistics) {
    const Index n_head = model_.config.n_head, n_unit = model_.config.n_layer * n_head;
    const Index n_method = variants.size() / n_unit;
    std::vector<HeadVariant> sample;
    for (const Index unit : precision_sample(n_unit)) sample.push_back(variants[unit * n_method]);
    const std::vector<TokenLoss> losses =
        ablation_.float32_losses(Pack::of_document(tokens_), sample);
    Array& row = statistics.row("float32", {sample.size()});
    for (std::size_t i = 0; i < losses.size(); ++i) row(i) += losses[i].sum();
  }

  void add_importance(DocumentStatistics& statistics) {
    const ModelConfig& config = model_.config;
    const Index d_head = config.d_head();
    Array& row = statistics.row("importance", {n_importance, config.n_layer, config.n_head});
    gradient_.run(tokens_, [&](const LayerGradient& view) {
      for (Index h = 0; h < config.n_head; ++h) {
        double magnitude = 0, total = 0;
        for (Index t = 0; t < view.z.n_cols; ++t) {
          double product = 0;
          for (Index i = h * d_head; i < (h + 1) * d_head; ++i) {
            product += static_cast<double>(view.z(i, t)) * view.dz(i, t);
          }
          magnitude += std::abs(product);
          total += product;
        }
        row(0, view.layer, h) = magnitude;
        row(1, view.layer, h) = std::abs(total);
        row(2, view.layer, h) = -total;
      }
    });
  }

  // Pass 2 ----------------------------------------------------------------------------------------

  /// Collects the distinct masks of all orders and steps.
  void plan_curves(const Statistics& earlier) {
    const ModelConfig& config = model_.config;
    const Index n_unit = config.n_layer * config.n_head;
    masks_.clear();
    mask_users_.clear();
    std::map<std::string, std::size_t> known;
    const std::vector<std::vector<Index>> orders = pruning_orders(earlier, config, settings_.seed);
    for (std::size_t order = 0; order < orders.size(); ++order) {
      for (std::size_t step = 0; step < n_curve_step; ++step) {
        const HeadMask mask =
            mask_without(orders[order], n_pruned_at(step, n_unit), config.n_layer, config.n_head);
        const auto [place, is_new] =
            known.try_emplace(std::string(mask.begin(), mask.end()), masks_.size());
        if (is_new) {
          masks_.push_back(mask);
          mask_users_.emplace_back();
        }
        mask_users_[place->second].push_back({order, step});
      }
    }
  }

  void prune(DocumentStatistics& statistics) {
    const std::vector<TokenLoss> losses =
        ablation_.masked_losses(Pack::of_document(tokens_), masks_);
    for (std::size_t mask = 0; mask < masks_.size(); ++mask) {
      add_curve_loss(mask, losses[mask], statistics);
    }
  }

  void add_curve_loss(std::size_t mask, const TokenLoss& loss, DocumentStatistics& statistics) {
    Array& row = statistics.row("curve", {2, n_curve_order, n_curve_step});
    const auto correct = std::count(loss.correct.begin(), loss.correct.end(), 1);
    for (const CurvePoint& point : mask_users_[mask]) {
      row(0, point.order, point.step) = loss.sum();
      row(1, point.order, point.step) = static_cast<double>(correct);
    }
  }

  struct CurvePoint {
    std::size_t order, step;
  };

  const Model& model_;
  const Corpus* corpus_;
  const AnalysisSettings& settings_;
  HeadAblation ablation_;
  HeadGradient gradient_;
  Forward donor_forward_;

  int pass_ = 0;
  std::uint64_t document_ = 0;
  TokenIds tokens_;
  std::vector<Vector> mean_z_;                            // per layer, d_model
  std::vector<std::pair<std::uint64_t, Index>> lengths_;  // in tokens, by document number
  std::vector<Matrix>
      donor_z_;             // per layer, d_model x n_token; empty if there is no other document
  Index donor_length_ = 0;  // positions filled by donors
  std::vector<HeadMask> masks_;
  std::vector<std::vector<CurvePoint>> mask_users_;  // the orders and steps of each mask
};

std::uint64_t memory(const RunShape& run) {
  const ModelConfig& config = run.config;
  const std::uint64_t n_unit = run.n_unit(), values = config.d_model * run.n_token;
  const std::uint64_t n_document =
      run.settings.own<PruningOptions>().n_document_used(run.n_document);
  // z of one donor and donor_z_, all layers; z of the donors and of the mean, one layer.
  const std::uint64_t donors = 2 * config.n_layer * values + 2 * values;
  const std::uint64_t row = (n_ablation_row + n_importance) * n_unit +
                            2 * n_curve_step * n_curve_order + n_precision_sample;
  return ablation_bytes(config, run.n_token, run.n_thread, run.settings.engine()) +
         gradient_bytes(config, run.n_token, run.n_thread) +
         forward_bytes(config, run.n_token, false) + donors * sizeof(float) +
         n_curve_order * n_curve_step * n_unit + n_document * row * Statistics::row_bytes;
}

}  // namespace

RegisteredAnalysis pruning_analysis() {
  return {pruning_info,
          [](const AnalysisContext& context) { return std::make_unique<Pruning>(context); },
          pruning_figures, memory, &AnalysisSettings::declare_own<PruningOptions>};
}

}  // namespace headscope
