#include <cmath>
#include <numeric>
#include <optional>

#include "headscope/gradient.hpp"
#include "mean_z.hpp"
#include "pruning/direct_effects.hpp"
#include "pruning/passes/donors.hpp"
#include "pruning/results.hpp"

namespace headscope {
namespace {

/// What the pass has besides PruningInput and donors; the same for all pieces.
struct AblationInput : DonorInput {
  const LogitAttribution& attribution;
  std::vector<Vector> mean_z;  ///< per layer, d_z
};

/// The mean of z over the positions that the first pass summed.
/// @param earlier  the sums of that pass.
/// @return per layer, d_z; zero where no position was summed.
std::vector<Vector> mean_z_or_zero(const Statistics& earlier, const ModelConfig& config) {
  return earlier.has("z") ? mean_z(earlier, "z")
                          : std::vector(config.n_layer, Vector(config.d_z(), arma::fill::zeros));
}

/// Takes the gradient of a piece and, of an ablated document, ablates every head.
class Effects : public PieceObserver {
 public:
  Effects(const AblationInput& input, const Piece& piece, DocumentStatistics& statistics)
      : input_(input),
        config_(input.model.config),
        tokens_(piece.tokens),
        block_(input.block_of(piece)),
        statistics_(statistics),
        donors_(input, piece) {
    const bool is_ablated = input.ablated.contains(piece.document);
    // Ablation needs the memory of the projections.
    input.ablation.keep_projections(!is_ablated);
    if (is_ablated) {
      direct_effects_.emplace(input.model, input.attribution, tokens_);
    }
  }

  std::optional<ProjectionMemory> projection_memory(Index layer, Index n_token) override {
    return input_.ablation.projection_memory(layer, n_token);
  }

  void observe_layer(const LayerView& view) override {
    input_.ablation.observe_layer(view);
    if (direct_effects_) direct_effects_->observe_layer(view);
    donors_.fill_positions_without_donor(view);
  }

  void end(const PieceEnd& end) override {
    if (!direct_effects_) return add_first_order();
    const TokenLoss& loss = input_.ablation.clean_loss(tokens_);
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
  void ablate() {
    const Index n_head = config_.n_head, n_token = tokens_.size();
    std::vector<HeadVariant> variants;
    for (Index l = 0; l < config_.n_layer; ++l) {
      const blas::ConstView mean(input_.mean_z[l].memptr(), config_.d_z(), n_token, 0);
      for (Index h = 0; h < n_head; ++h) {
        std::vector<Index> other_heads(n_head);
        std::iota(other_heads.begin(), other_heads.end(), 0);
        std::erase(other_heads, h);
        variants.push_back({l, {h}});
        variants.push_back({l, {h}, mean});
        variants.push_back({l, std::move(other_heads)});
        for (std::size_t donor = 0; donor < donors_.size(); ++donor) {
          variants.push_back({l, {h}, donors_.z(donor, l)});
        }
      }
    }
    const std::vector<TokenLoss> losses = input_.ablation.losses(tokens_, variants);
    Array& rows = statistics_.row("ablated", {n_ablation_row, config_.n_layer, n_head});
    if (input_.ablation.is_approximate()) sample_float32(variants);
    arma::mat by_donor(config_.n_layer * n_head, donors_.size());
    auto loss = losses.begin();
    for (Index l = 0; l < config_.n_layer; ++l) {
      for (Index h = 0; h < n_head; ++h) {
        for (std::size_t row = 0; row < resample_row; ++row) rows(row, l, h) += (loss++)->sum();
        for (std::size_t donor = 0; donor < donors_.size(); ++donor) {
          by_donor(l * n_head + h, donor) = (loss++)->sum();
        }
        rows(resample_row, l, h) +=
            by_donor.n_cols == 0 ? std::nan("") : arma::mean(by_donor.row(l * n_head + h));
      }
    }
    add_donor_variances(by_donor, statistics_);
  }

  /// Zero ablation of a sample of heads by float32 products.
  /// @param variants  of which the zero ablations are chosen.
  void sample_float32(const std::vector<HeadVariant>& variants) {
    const Index n_head = config_.n_head, n_head_total = config_.n_layer * n_head;
    const Index n_method = variants.size() / n_head_total;
    std::vector<HeadVariant> sample;
    for (const Index head_index : precision_sample(n_head_total))
      sample.push_back(variants[head_index * n_method]);
    const std::vector<TokenLoss> losses = input_.ablation.float32_losses(tokens_, sample);
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
    HeadGradient gradient(input_.model, input_.compute);
    const auto observe = [&](const LayerGradient& view) {
      const Index l = view.layer;
      const arma::mat products = z_dot_gradient(view, config_.n_head);
      const arma::vec dz_sum = arma::conv_to<arma::vec>::from(arma::sum(view.dz, 1)),
                      mean = arma::conv_to<arma::vec>::from(input_.mean_z[l]) % dz_sum;
      const arma::mat donors = donors_.z_dot_gradient(view, config_.n_head);
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
    TokenLoss loss = gradient.run(input_.ablation.activations(), tokens_, observe);
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

  const AblationInput& input_;
  const ModelConfig& config_;
  const TokenIds& tokens_;
  std::size_t block_;  // of the piece's document
  DocumentStatistics& statistics_;
  std::optional<DirectEffects> direct_effects_;  // none: the document is not ablated
  DonorZ donors_;
};

class AblatingPass : public CorpusPass {
 public:
  AblatingPass(const PruningInput& input, const LogitAttribution& attribution,
               const Statistics& earlier)
      : input_{
            {input, donors_of(input)}, attribution, mean_z_or_zero(earlier, input.model.config)} {}
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override {
    if (!input_.samples(piece)) return nullptr;
    if (!input_.ablated.contains(piece.document) && input_.corpus.begins_predictions(piece)) {
      statistics.sum("other_n_document", {n_document_block})(input_.block_of(piece)) = 1;
    }
    return std::make_unique<Effects>(input_, piece, statistics);
  }

 private:
  const AblationInput input_;
};

}  // namespace

std::unique_ptr<CorpusPass> ablating_pass(const PruningInput& input,
                                          const LogitAttribution& attribution,
                                          const Statistics& earlier) {
  return std::make_unique<AblatingPass>(input, attribution, earlier);
}

}  // namespace headscope
