#include <algorithm>
#include <map>
#include <string>

#include "pruning/orders.hpp"
#include "pruning/passes/pruning_pass.hpp"
#include "pruning/results.hpp"

namespace headscope {
namespace {

/// Takes the loss of a piece and, of an ablated document, its losses without the heads of each
/// mask.
class Curves : public PieceObserver {
 public:
  Curves(const PruningInput& input, const CurveMasks& curves, const Piece& piece,
         DocumentStatistics& statistics)
      : input_(input),
        curves_(curves),
        tokens_(piece.tokens),
        block_(input.block_of(piece)),
        is_ablated_(input.ablated.contains(piece.document)),
        statistics_(statistics) {}

  void observe_layer(const LayerView& view) override {
    if (is_ablated_) input_.ablation.observe_layer(view);
  }

  void end(const PieceEnd& end) override {
    const TokenLoss loss = end.forward.loss(end.resid_final, tokens_);
    Array& sum = statistics_.sum("loss", {n_document_block, 2});
    sum(block_, 0) = loss.sum();
    sum(block_, 1) = static_cast<double>(loss.nll.size());
    if (!is_ablated_) return;
    const std::vector<TokenLoss> losses = input_.ablation.masked_losses(tokens_, curves_.masks);
    Array& row = statistics_.row("curve", {2, n_curve_order, n_curve_step});
    for (std::size_t mask = 0; mask < losses.size(); ++mask) {
      const std::vector<unsigned char>& correct = losses[mask].correct;
      const auto n_correct = std::count(correct.begin(), correct.end(), 1);
      for (const CurveMasks::Point& point : curves_.users[mask]) {
        row(0, point.order, point.step) += losses[mask].sum();
        row(1, point.order, point.step) += static_cast<double>(n_correct);
      }
    }
  }

 private:
  const PruningInput& input_;
  const CurveMasks& curves_;
  const TokenIds& tokens_;
  std::size_t block_;  // of the piece's document
  bool is_ablated_;
  DocumentStatistics& statistics_;
};

class CurvePass : public CorpusPass {
 public:
  CurvePass(const PruningInput& input, const CurveMasks& curves) : input_(input), curves_(curves) {}
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override {
    if (piece.index == 0) {
      statistics.sum("n_document", {n_document_block})(input_.block_of(piece)) = 1;
    }
    if (piece.tokens.size() < 2) return nullptr;
    return std::make_unique<Curves>(input_, curves_, piece, statistics);
  }

 private:
  const PruningInput input_;
  const CurveMasks& curves_;
};

}  // namespace

CurveMasks curve_masks(const Statistics& earlier, const ModelConfig& config, std::uint64_t seed) {
  CurveMasks curves;
  std::map<std::string, std::size_t> known;
  const std::vector<std::vector<Index>> orders = pruning_orders(earlier, config, seed);
  for (std::size_t order = 0; order < orders.size(); ++order) {
    for (std::size_t step = 0; step < n_curve_step; ++step) {
      const HeadMask mask = mask_without(orders[order], n_pruned_at(step, orders[order].size()),
                                         config.n_layer, config.n_head);
      const auto [place, is_new] =
          known.try_emplace(std::string(mask.begin(), mask.end()), curves.masks.size());
      if (is_new) {
        curves.masks.push_back(mask);
        curves.users.emplace_back();
      }
      curves.users[place->second].push_back({order, step});
    }
  }
  return curves;
}

std::unique_ptr<CorpusPass> curve_pass(const PruningInput& input, const CurveMasks& curves) {
  return std::make_unique<CurvePass>(input, curves);
}

}  // namespace headscope
