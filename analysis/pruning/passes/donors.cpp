#include "pruning/passes/donors.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "headscope/random.hpp"
#include "pruning/pruning.hpp"
#include "pruning/results.hpp"
#include "random_draws.hpp"

namespace headscope {

std::vector<Donor> donors_of(const PruningInput& input) {
  std::vector<Donor> donors;
  for (const Index document : input.ablated) {
    for (std::uint64_t index = 0; index < input.corpus.n_piece(document); ++index) {
      const Index n_token = input.corpus.piece(document, index).tokens.size();
      if (n_token > 1) donors.push_back({document, index, n_token});
    }
  }
  return donors;
}

DonorZ::DonorZ(const DonorInput& input, const Piece& piece) : filled_(piece.tokens.size()) {
  std::vector<Donor> candidates;
  std::set<std::uint64_t> documents;
  for (const Donor& donor : input.donors) {
    if (donor.document == piece.document) continue;
    candidates.push_back(donor);
    documents.insert(donor.document);
  }
  const ModelConfig& config = input.model.config;
  z_.resize(
      std::min<std::size_t>(input.settings.options<PruningOptions>().n_donor, documents.size()));
  for (Layers& layers : z_) {
    layers.assign(config.n_layer, Matrix(config.d_z(), filled_.size(), arma::fill::zeros));
  }
  const CounterRandom random(CounterRandom(input.settings.seed, piece.document).value(piece.index));
  std::vector<Donor> in_order;
  for (const Index choice : permutation(candidates.size(), random))
    in_order.push_back(candidates[choice]);
  collect(input, in_order);
  reuse_donors();
}

bool DonorZ::takes(Index position, std::uint64_t document) const {
  const std::vector<std::uint64_t>& filled = filled_[position];
  return filled.size() < size() && std::ranges::find(filled, document) == filled.end();
}

void DonorZ::collect(const DonorInput& input, std::span<const Donor> in_order) {
  Forward forward(input.model, input.compute);  // gives its memory back before the ablation
  for (const Donor& donor : in_order) {
    // Later positions are filled less often, and by no document that an earlier one lacks.
    if (filled_.back().size() == size()) break;
    const Index reach = std::min<Index>(filled_.size(), donor.n_token);
    if (!takes(reach - 1, donor.document)) continue;
    LayerFunction copy([&](const LayerView& view) {
      for (Index t = 0; t < reach; ++t) {
        if (takes(t, donor.document)) z_[filled_[t].size()][view.layer].col(t) = view.z.col(t);
      }
    });
    forward.run(input.corpus.piece(donor.document, donor.index).tokens, {&copy});
    for (Index t = 0; t < reach; ++t) {
      if (takes(t, donor.document)) filled_[t].push_back(donor.document);
    }
  }
}

void DonorZ::reuse_donors() {
  for (Index t = 0; t < filled_.size(); ++t) {
    const std::size_t n_filled = filled_[t].size();
    if (n_filled == 0) continue;
    for (std::size_t donor = n_filled; donor < size(); ++donor) {
      for (Index l = 0; l < z_[donor].size(); ++l) {
        z_[donor][l].col(t) = z_[donor % n_filled][l].col(t);
      }
    }
  }
}

std::uint64_t DonorZ::bytes(const ModelConfig& config, Index n_token, std::uint64_t n_donor) {
  const std::uint64_t filled =
      sizeof(std::vector<std::uint64_t>) + 2 * n_donor * sizeof(std::uint64_t);
  return n_token * (n_donor * config.n_layer * config.d_z() * sizeof(float) + filled);
}

void DonorZ::fill_positions_without_donor(const LayerView& view) {
  const auto first = static_cast<Index>(
      std::ranges::find_if(filled_, [](const auto& filled) { return filled.empty(); }) -
      filled_.begin());
  if (first == filled_.size()) return;
  for (Layers& layers : z_) {
    layers[view.layer].cols(first, view.n_token - 1) = view.z.cols(first, view.n_token - 1);
  }
}

arma::mat DonorZ::z_dot_gradient(const LayerGradient& gradient, Index n_head) const {
  arma::mat mean;
  for (const Layers& layers : z_) {
    const arma::mat products =
        headscope::z_dot_gradient({gradient.layer, layers[gradient.layer], gradient.dz}, n_head);
    mean = mean.is_empty() ? products : arma::mat(mean + products);
  }
  return mean / static_cast<double>(std::max<std::size_t>(1, size()));
}

void add_donor_variances(const arma::mat& losses, DocumentStatistics& statistics) {
  Array& sums = statistics.sum("donor_variance", {losses.n_rows + n_donor_part});
  if (losses.n_cols < 2) {
    sums(losses.n_rows + donor_n_without) += 1;
    return;
  }
  const auto n_donor = static_cast<double>(losses.n_cols);
  const arma::vec of_heads = arma::var(losses, 0, 1) / n_donor;
  for (Index head_index = 0; head_index < of_heads.size(); ++head_index) {
    sums(head_index) += of_heads(head_index);
  }
  sums(losses.n_rows + donor_sum_over_heads) +=
      arma::var(arma::vec(arma::sum(losses, 0).t())) / n_donor;
}

}  // namespace headscope
