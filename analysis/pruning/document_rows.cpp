#include "pruning/document_rows.hpp"

#include <algorithm>
#include <numeric>

#include "headscope/error.hpp"
#include "pruning/results.hpp"

namespace headscope {
namespace {

/// The loss increase that the gradient predicts for each ablation.
/// @param first_order  row x layer x head; zero, mean and resample ablation from row `first` on.
/// @param sign         turns the rows into increases.
/// @return n_ablation_row x layer x head. For all heads but one it is the sum of what is predicted
///         for zero ablation of the layer's other heads.
Array predicted_increases(const Array& first_order, std::size_t first, double sign) {
  const arma::mat zero = sign * first_order.matrix(first), of_layer = arma::sum(zero, 1);
  Array predicted({n_ablation_row, zero.n_rows, zero.n_cols});
  predicted.set(zero, 0);
  predicted.set(sign * first_order.matrix(first + 1), 1);
  predicted.set(arma::repmat(of_layer, 1, zero.n_cols) - zero, all_but_one_row);
  predicted.set(sign * first_order.matrix(first + 2), resample_row);
  return predicted;
}

GradientBlocks gradient_blocks(const Statistics& statistics) {
  GradientBlocks blocks;
  if (!statistics.has("other_baseline")) return blocks;
  const Array n_document = statistics.total("other_n_document"),
              baseline = statistics.total("other_baseline"),
              first_order = statistics.total("other_first_order");
  for (std::size_t block = 0; block < n_document_block; ++block) {
    if (n_document(block) == 0) continue;
    blocks.n_document += n_document(block);
    blocks.block.push_back(block);
    blocks.baseline.push_back(baseline(block, 0));
    blocks.n_predicted.push_back(baseline(block, 1));
    blocks.first_order.push_back(predicted_increases(first_order.part(block), 0, 1));
  }
  return blocks;
}

}  // namespace

DocumentRows document_rows(const Statistics& statistics) {
  if (!statistics.has("baseline"))
    throw Error("pruning: expected a document of at least 2 tokens, got none");
  DocumentRows rows;
  for (const auto& [document, row] : statistics.rows("baseline")) {
    rows.document.push_back(document);
    rows.baseline.push_back(row(0));
    rows.n_predicted.push_back(row(1));
    rows.ablated.push_back(&statistics.rows("ablated").at(document));
    rows.importance.push_back(&statistics.rows("importance").at(document));
    rows.direct_head.push_back(&statistics.rows("direct_head").at(document));
    rows.direct_part.push_back(&statistics.rows("direct_part").at(document));
    if (statistics.has("curve")) rows.curve.push_back(&statistics.rows("curve").at(document));
    rows.first_order.push_back(predicted_increases(*rows.importance.back(), 1, -1));
  }
  rows.gradient_only = gradient_blocks(statistics);
  return rows;
}

BootstrapCounts every_document_once(const DocumentRows& rows) {
  return BootstrapCounts(rows.size(), 1);
}

bool has_both_parities(const DocumentRows& rows) {
  const auto n_odd = std::ranges::count_if(rows.document, [](auto d) { return d % 2 == 1; });
  return n_odd > 0 && static_cast<std::size_t>(n_odd) < rows.size();
}

BootstrapCounts weights_of_parity(const DocumentRows& rows, BootstrapCounts weights, bool odd) {
  if (!has_both_parities(rows)) return weights;
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if ((rows.document[d] % 2 == 1) != odd) weights[d] = 0;
  }
  return weights;
}

Array weighted(const std::vector<const Array*>& rows, const BootstrapCounts& weights) {
  Array sum(rows.front()->shape);
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (weights[d] == 0) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum.values[i] += weights[d] * rows[d]->values[i];
    }
  }
  return sum;
}

Array mean_importance(const DocumentRows& rows, const BootstrapCounts& weights) {
  const Shape& shape = rows.importance.front()->shape;
  arma::mat per_token(shape[1], shape[2], arma::fill::zeros), per_example = per_token,
                                                              net = per_token;
  const auto n_document = static_cast<double>(std::reduce(weights.begin(), weights.end()));
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (weights[d] == 0) continue;
    const double scale = weights[d] / (rows.n_predicted[d] * n_document);
    const arma::mat total = scale * rows.importance[d]->matrix(1);
    per_token += scale * rows.importance[d]->matrix(0);
    per_example += arma::abs(total);
    net -= total;
  }
  Array mean({n_importance, shape[1], shape[2]});
  mean.set(per_token, 0);
  mean.set(per_example, 1);
  mean.set(net, 2);
  return mean;
}

Bootstrap bootstrap_of(const DocumentRows& rows, const AnalysisSettings& settings) {
  return settings.bootstrap(std::vector<double>(rows.size(), 1));
}

}  // namespace headscope
