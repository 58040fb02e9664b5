#include "pruning/pruning.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "headscope/ablation.hpp"
#include "headscope/figure.hpp"
#include "headscope/gradient.hpp"
#include "headscope/random.hpp"
#include "headscope/resampling.hpp"
#include "pruning/direct_effects.hpp"
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
    .passes = {"averaging heads", "ablating heads", "pruning heads"},
};

/// Copies the z of a layer at the positions [first, end).
/// @param z  per layer, d_z x at least end.
void copy_z(const LayerView& view, Index first, Index end, std::vector<Matrix>& z) {
  z[view.layer].cols(first, end - 1) = view.z.cols(first, end - 1);
}

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

/// On a sample of the documents, pass 0 sums z for its mean; pass 1 takes the gradient and, on a
/// part of the sample, ablates every head and takes the direct effects; pass 2 prunes that part in
/// the orders found by pass 1. Pass 2 also takes the loss of all documents.
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
    const auto& options = settings_.own<PruningOptions>();
    sample_ = spread_sample(n_document, options.n_document_used(n_document),
                            CounterRandom(settings_.seed, sample_stream));
    ablated_ = ablated_documents(sample_, options.n_document_ablated(n_document), settings_.seed);
  }

  void begin_pass(int pass, const Statistics& earlier) override {
    pass_ = pass;
    if (pass == 1) prepare_ablation(earlier);
    if (pass == 2) plan_curves(earlier);
  }

  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;

  PieceCost piece_cost(int pass, std::uint64_t document) const override {
    if (!sample_.contains(document)) return {.observes = pass == 2, .forward_passes = 0};
    if (pass == 0) return {.forward_passes = 0};
    if (!ablated_.contains(document)) return {.forward_passes = pass == 1 ? 3.0 : 0.0};
    if (pass == 2) {
      const std::size_t n_mask = masks_.empty() ? n_curve_order * n_curve_step : masks_.size();
      return {.forward_passes = static_cast<double>(n_mask)};
    }
    // Every ablation of each head runs from the head's layer on; then the gradient.
    const double n_head_total = static_cast<double>(model_.config.n_layer * model_.config.n_head);
    return {.forward_passes = 0.5 * n_head_total * n_ablation_row + 3};
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    return {pruning_results(statistics, model_.config, settings_)};
  }

 private:
  class Effects;
  class Curves;

  void add_mean_z(const LayerView& view, DocumentStatistics& statistics) const;
  void prepare_ablation(const Statistics& earlier);
  void plan_curves(const Statistics& earlier);

  struct CurvePoint {
    std::size_t order, step;
  };

  /// A piece of the sample whose z can replace another's.
  struct Donor {
    std::uint64_t document, index;
    Index n_token;
  };

  const Model& model_;
  const Corpus* corpus_;
  const AnalysisSettings& settings_;
  const ComputeContext compute_;
  HeadAblation ablation_;
  LogitAttribution attribution_;
  std::set<Index> sample_;   // documents whose gradients are taken
  std::set<Index> ablated_;  // of those, the documents whose heads are ablated

  int pass_ = 0;
  std::vector<Vector> mean_z_;  // per layer, d_z
  std::vector<Donor> donors_;
  std::vector<HeadMask> masks_;
  std::vector<std::vector<CurvePoint>> mask_users_;  // the orders and steps of each mask
};

// Pass 0 ------------------------------------------------------------------------------------------

/// Sums z over the positions after 0.
void Pruning::add_mean_z(const LayerView& view, DocumentStatistics& statistics) const {
  const ModelConfig& config = model_.config;
  Array& sum = statistics.sum("z", {config.n_layer, config.d_z()});
  for (Index t = 1; t < view.n_token; ++t) {
    for (Index i = 0; i < config.d_z(); ++i) sum(view.layer, i) += view.z(i, t);
  }
  if (view.layer == 0) {
    statistics.sum("z_count", {1})(0) += static_cast<double>(view.n_token - 1);
  }
}

// Pass 1 ------------------------------------------------------------------------------------------

/// Reads mean z from pass 0 and the lengths of the pieces of ablated documents.
void Pruning::prepare_ablation(const Statistics& earlier) {
  const ModelConfig& config = model_.config;
  mean_z_.assign(config.n_layer, Vector(config.d_z(), arma::fill::zeros));
  donors_.clear();
  if (!earlier.has("z")) return;
  const Array sum = earlier.total("z");
  const double count = earlier.total("z_count")(0);
  for (Index l = 0; l < mean_z_.size(); ++l) {
    for (Index i = 0; i < config.d_z(); ++i) {
      mean_z_[l](i) = static_cast<float>(sum(l, i) / count);
    }
  }
  for (const Index document : ablated_) {
    for (std::uint64_t index = 0; index < corpus_->n_piece(document); ++index) {
      const Index n_token = corpus_->piece(document, index).tokens.size();
      if (n_token > 1) donors_.push_back({document, index, n_token});
    }
  }
}

/// Takes the gradient of a piece and, of an ablated document, ablates every head.
class Pruning::Effects : public PieceObserver {
 public:
  Effects(Pruning& analysis, const Piece& piece, std::size_t block, DocumentStatistics& statistics)
      : analysis_(analysis),
        config_(analysis.model_.config),
        tokens_(piece.tokens),
        block_(block),
        statistics_(statistics) {
    collect_donor_z(piece);
    const bool is_ablated = analysis.ablated_.contains(piece.document);
    // The ablation needs their memory.
    analysis.ablation_.keep_projections(!is_ablated);
    if (is_ablated) {
      direct_effects_.emplace(analysis.model_, analysis.attribution_, tokens_);
    } else if (piece.index == 0) {
      statistics.sum("other_n_document", {n_document_block})(block_) = 1;
    }
  }

  std::optional<ProjectionMemory> projection_memory(Index layer, const ModelConfig& config,
                                                    Index n_token) override {
    return analysis_.ablation_.projection_memory(layer, config, n_token);
  }

  void observe_layer(const LayerView& view) override {
    analysis_.ablation_.observe_layer(view);
    if (direct_effects_) direct_effects_->observe_layer(view);
    if (!donor_z_.empty() && donor_length_ < view.n_token) {
      copy_z(view, donor_length_, view.n_token, donor_z_);
    }
  }

  void end(const PieceEnd& end) override {
    if (!direct_effects_) return add_first_order();
    const TokenLoss& loss = analysis_.ablation_.clean_loss(SequenceBatch::of_document(tokens_));
    Array& row = statistics_.row("baseline", {2});
    row(0) += loss.sum();
    row(1) += static_cast<double>(loss.nll.size());
    ablate();
    Array& importance =
        statistics_.row("importance", {n_importance_row, config_.n_layer, config_.n_head});
    const Array of_piece = importance_of_piece().importance;
    for (std::size_t i = 0; i < importance.size(); ++i) importance.values[i] += of_piece.values[i];
    direct_effects_->end(end.resid_final, statistics_);
  }

 private:
  /// Fills donor_z_ with z of pieces of other documents at the same positions. Donors are visited
  /// in a seeded order; each fills the positions beyond the end of earlier donors. Positions that
  /// no donor reaches keep the piece's own z.
  void collect_donor_z(const Piece& piece) {
    const Index n_token = tokens_.size();
    donor_length_ = 0;
    auto others = analysis_.donors_;
    std::erase_if(others, [&](const Donor& other) { return other.document == piece.document; });
    const CounterRandom random(
        CounterRandom(analysis_.settings_.seed, piece.document).value(piece.index));
    Forward forward(analysis_.model_,
                    analysis_.compute_);  // gives its memory back before the ablation
    for (const Index choice : permutation(others.size(), random)) {
      if (donor_length_ == n_token) break;
      const Donor& donor = others[choice];
      if (donor.n_token <= donor_length_) continue;
      if (donor_z_.empty()) {
        donor_z_.assign(config_.n_layer, Matrix(config_.d_z(), n_token, arma::fill::zeros));
      }
      const Index reach = std::min(n_token, donor.n_token);
      LayerFunction copy(
          [&](const LayerView& view) { copy_z(view, donor_length_, reach, donor_z_); });
      LayerObserver* const observers[] = {&copy};
      forward.run(analysis_.corpus_->piece(donor.document, donor.index).tokens, observers);
      donor_length_ = reach;
    }
  }

  void ablate() {
    const Index n_head = config_.n_head, n_token = tokens_.size();
    std::vector<HeadVariant> variants;
    for (Index l = 0; l < config_.n_layer; ++l) {
      const blas::ConstView mean(analysis_.mean_z_[l].memptr(), config_.d_z(), n_token, 0);
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
    const std::vector<TokenLoss> losses = analysis_.ablation_.losses(tokens_, variants);
    Array& rows = statistics_.row("ablated", {n_ablation_row, config_.n_layer, n_head});
    if (analysis_.ablation_.is_approximate()) sample_float32(variants);
    auto loss = losses.begin();
    for (Index l = 0; l < config_.n_layer; ++l) {
      for (Index h = 0; h < n_head; ++h) {
        for (std::size_t row = 0; row < n_ablation_row; ++row) {
          const bool has_donor = row != resample_row || !donor_z_.empty();
          rows(row, l, h) += has_donor ? (loss++)->sum() : std::nan("");
        }
      }
    }
  }

  /// Zero ablation of a sample of heads by float32 products.
  /// @param variants  of which the zero ablations are chosen.
  void sample_float32(const std::vector<HeadVariant>& variants) {
    const Index n_head = config_.n_head, n_head_total = config_.n_layer * n_head;
    const Index n_method = variants.size() / n_head_total;
    std::vector<HeadVariant> sample;
    for (const Index head_index : precision_sample(n_head_total))
      sample.push_back(variants[head_index * n_method]);
    const std::vector<TokenLoss> losses =
        analysis_.ablation_.float32_losses(SequenceBatch::of_document(tokens_), sample);
    Array& row = statistics_.row("float32", {sample.size()});
    for (std::size_t i = 0; i < losses.size(); ++i) row(i) += losses[i].sum();
  }

  struct Importance {
    Array importance;  ///< n_importance_row x layer x head, nats summed over predicted tokens
    TokenLoss loss;    ///< of the piece
  };
  Importance importance_of_piece() {
    const Index d_head = config_.d_head();
    Array importance({n_importance_row, config_.n_layer, config_.n_head});
    const auto n_predicted = static_cast<double>(tokens_.size() - 1);
    HeadGradient gradient(analysis_.model_, analysis_.compute_);
    const auto observe = [&](const LayerGradient& view) {
      const Index l = view.layer;
      const arma::mat products = z_dot_gradient(view, config_.n_head);
      const arma::vec whole = arma::conv_to<arma::vec>::from(arma::sum(view.dz, 1)),
                      mean = arma::conv_to<arma::vec>::from(analysis_.mean_z_[l]) % whole;
      arma::mat donors;
      if (!donor_z_.empty()) donors = z_dot_gradient({l, donor_z_[l], view.dz}, config_.n_head);
      for (Index h = 0; h < config_.n_head; ++h) {
        const double zero = arma::accu(products.row(h));
        importance(0, l, h) = n_predicted * arma::accu(arma::abs(products.row(h)));
        importance(1, l, h) = n_predicted * zero;
        importance(2, l, h) =
            n_predicted * (zero - arma::accu(mean.subvec(h * d_head, (h + 1) * d_head - 1)));
        if (!donors.is_empty()) {
          importance(3, l, h) = n_predicted * (zero - arma::accu(donors.row(h)));
        }
      }
    };
    TokenLoss loss = gradient.run(analysis_.ablation_.activations(), tokens_, observe);
    return {std::move(importance), std::move(loss)};
  }

  /// Of a document that is not ablated.
  void add_first_order() {
    const auto [importance, loss] = importance_of_piece();
    Array& baseline = statistics_.sum("other_baseline", {n_document_block, 2});
    baseline(block_, 0) = loss.sum();
    baseline(block_, 1) = static_cast<double>(loss.nll.size());
    const std::size_t n_head_total = importance.part(0).size();
    std::vector<float> increases;
    for (std::size_t i = n_head_total; i < importance.size(); ++i) {
      increases.push_back(static_cast<float>(-importance.values[i]));
    }
    statistics_.add("other_first_order",
                    {n_document_block, n_first_order, config_.n_layer, config_.n_head},
                    block_ * increases.size(), increases);
  }

  Pruning& analysis_;
  const ModelConfig& config_;
  const TokenIds& tokens_;
  std::size_t block_;  // of the piece's document
  DocumentStatistics& statistics_;
  std::optional<DirectEffects> direct_effects_;  // none: the document is not ablated
  std::vector<Matrix> donor_z_;  // per layer, d_z x n_token; empty if there is no other document
  Index donor_length_ = 0;       // positions filled by donors
};

// Pass 2 ------------------------------------------------------------------------------------------

/// Collects the distinct masks of all orders and steps.
void Pruning::plan_curves(const Statistics& earlier) {
  const ModelConfig& config = model_.config;
  const Index n_head_total = config.n_layer * config.n_head;
  masks_.clear();
  mask_users_.clear();
  std::map<std::string, std::size_t> known;
  const std::vector<std::vector<Index>> orders = pruning_orders(earlier, config, settings_.seed);
  for (std::size_t order = 0; order < orders.size(); ++order) {
    for (std::size_t step = 0; step < n_curve_step; ++step) {
      const HeadMask mask = mask_without(orders[order], n_pruned_at(step, n_head_total),
                                         config.n_layer, config.n_head);
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

/// Takes the loss of a piece and, of an ablated document, its losses without the heads of each
/// mask.
class Pruning::Curves : public PieceObserver {
 public:
  Curves(Pruning& analysis, const Piece& piece, std::size_t block, DocumentStatistics& statistics)
      : analysis_(analysis),
        tokens_(piece.tokens),
        block_(block),
        is_ablated_(analysis.ablated_.contains(piece.document)),
        statistics_(statistics) {}

  void observe_layer(const LayerView& view) override {
    if (is_ablated_) analysis_.ablation_.observe_layer(view);
  }

  void end(const PieceEnd& end) override {
    const TokenLoss loss = end.forward.loss(end.resid_final, tokens_);
    Array& sum = statistics_.sum("loss", {n_document_block, 2});
    sum(block_, 0) = loss.sum();
    sum(block_, 1) = static_cast<double>(loss.nll.size());
    if (!is_ablated_) return;
    const std::vector<TokenLoss> losses =
        analysis_.ablation_.masked_losses(SequenceBatch::of_document(tokens_), analysis_.masks_);
    Array& row = statistics_.row("curve", {2, n_curve_order, n_curve_step});
    for (std::size_t mask = 0; mask < losses.size(); ++mask) {
      const std::vector<unsigned char>& correct = losses[mask].correct;
      const auto n_correct = std::count(correct.begin(), correct.end(), 1);
      for (const CurvePoint& point : analysis_.mask_users_[mask]) {
        row(0, point.order, point.step) += losses[mask].sum();
        row(1, point.order, point.step) += static_cast<double>(n_correct);
      }
    }
  }

 private:
  Pruning& analysis_;
  const TokenIds& tokens_;
  std::size_t block_;  // of the piece's document
  bool is_ablated_;
  DocumentStatistics& statistics_;
};

std::unique_ptr<PieceObserver> Pruning::begin_piece(const Piece& piece,
                                                    DocumentStatistics& statistics) {
  const std::size_t block = document_block(piece.document, corpus_->n_document());
  if (pass_ == 2 && piece.index == 0) statistics.sum("n_document", {n_document_block})(block) = 1;
  if (piece.tokens.size() < 2) return nullptr;
  if (pass_ == 2) return std::make_unique<Curves>(*this, piece, block, statistics);
  if (!sample_.contains(piece.document)) return nullptr;
  if (pass_ == 0) {
    return std::make_unique<LayerFunction>(
        [this, &statistics](const LayerView& view) { add_mean_z(view, statistics); });
  }
  return std::make_unique<Effects>(*this, piece, block, statistics);
}

std::uint64_t memory(const RunShape& run) {
  const ModelConfig& config = run.config;
  const std::uint64_t n_head_total = run.n_head_total(), values = config.d_z() * run.n_token;
  const auto& options = run.settings.own<PruningOptions>();
  const std::uint64_t n_document = options.n_document_ablated(run.n_document);
  const bool has_others = n_document < options.n_document_used(run.n_document);
  // Sums of blocks of documents that are not ablated, and what results take from them.
  const std::uint64_t others =
      has_others ? n_document_block * n_head_total *
                       (n_first_order * (Statistics::added_bytes + sizeof(double)) +
                        n_ablation_row * sizeof(double))
                 : 0;
  // donor_z_, all layers; z of the mean, one layer.
  const std::uint64_t donors = config.n_layer * values + values;
  const std::uint64_t row = (2 * n_ablation_row + n_importance_row + 1) * n_head_total +
                            config.n_layer + n_direct_part + 2 * n_curve_step * n_curve_order +
                            n_precision_sample;
  const std::uint64_t direct =
      2 * values * sizeof(float) + (n_head_total + config.n_layer) * run.n_token * sizeof(double);
  const Engines engines = run.settings.engines;
  return HeadAblation::bytes(config, run.n_token, run.n_thread, engines,
                             run.settings.ablation(config.d_vocab).sample, has_others) +
         std::max(HeadGradient::bytes(config, run.n_token, run.n_thread, engines),
                  Forward::bytes(config, run.n_token, false)) +
         donors * sizeof(float) + direct + n_curve_order * n_curve_step * n_head_total + others +
         n_document * row * Statistics::row_bytes;
}

}  // namespace

RegisteredAnalysis pruning_analysis() {
  return registered<Pruning, PruningOptions>(pruning_info, pruning_figures, pruning_presentation(),
                                             memory);
}

}  // namespace headscope
