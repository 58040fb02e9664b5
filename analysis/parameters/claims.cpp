#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "parameters/block_energy.hpp"
#include "parameters/cost.hpp"
#include "parameters/parameters.hpp"
#include "parameters/splitting.hpp"
#include "report_text.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

/// float32 has 7 digits; sums of d_model products and the softmax may lose three of them.
constexpr double rounding = 1e-4;

/// A projection counts as block-diagonal from this share of its squared weights on.
constexpr double block_diagonal_energy = 0.9;

const char* const vaswani = "Vaswani et al. 2017, Attention Is All You Need, section 3.2.2";

std::string integer_text(double value) {
  return grouped(static_cast<std::uint64_t>(value));
}

Claim splitting_claim(const Model& model, const AnalysisSettings& settings) {
  const SplittingDifference difference = splitting_difference(model, settings.seed);
  Claim claim;
  claim.number = 1;
  claim.source = vaswani;
  claim.arithmetic = true;
  claim.statement =
      "Splitting one large projection equals separate per-head projections (to rounding).";
  claim.verdict = difference.relative <= rounding ? Verdict::holds : Verdict::does_not_hold;
  claim.effect_name = "largest difference of the attention output, relative to its largest element";
  claim.effect.value = difference.relative;
  claim.evidence =
      "Attention of every layer was computed both ways on " + std::to_string(difference.n_token) +
      " random inputs. The largest relative difference is " + number_text(difference.relative, 3) +
      " (layer " + std::to_string(difference.layer) +
      "). The claim holds when the difference is at most " + number_text(rounding, 3) +
      ", which float32 rounding can explain.";
  return claim;
}

Claim parameter_count_claim(const Model& model) {
  const auto d = static_cast<double>(model.config.d_model);
  const double single = 4 * d * d;
  double largest_ratio = 0;
  bool equal = true;
  for (const LayerWeights& layer : model.layers) {
    const auto held = static_cast<double>(layer.W_QKV.n_elem + layer.W_O.n_elem);
    largest_ratio = std::max(largest_ratio, held / single);
    equal = equal && held == single;
  }
  Claim claim;
  claim.number = 2;
  claim.source = vaswani;
  claim.arithmetic = true;
  claim.statement =
      "Multi-head attention has as many parameters as single-head: 4d^2 (3d^2 without W_O).";
  claim.verdict = equal ? Verdict::holds : Verdict::does_not_hold;
  claim.effect_name = "attention weights of one layer, relative to one head of width d";
  claim.effect.value = largest_ratio;
  claim.exact = true;
  claim.evidence = (model.config.pruned_heads.empty() ? "Each layer with its " : "A layer with ") +
                   heads_of_layer_text(model.config) + " holds " +
                   integer_text(largest_ratio * single) +
                   " attention weights (biases apart); one head of width " +
                   std::to_string(model.config.d_model) + " needs " + integer_text(single) +
                   ". Block-diagonal projections would need " +
                   integer_text(attention_parameters(ProjectionScheme::block_diagonal_all,
                                                     AttentionShape::of(model.config))) +
                   (model.config.n_group() < model.config.n_head && largest_ratio < 1
                        ? ". Heads that share keys and values need fewer weights"
                        : "") +
                   ". The numbers are counted, hence exact; the claim holds when they are equal.";
  return claim;
}

Claim cost_claim(const ModelConfig& config) {
  const auto n_token = static_cast<double>(config.n_ctx);
  const auto cost = [&](ProjectionScheme scheme, CostTerm term) {
    return attention_cost(scheme, term, AttentionShape::of(config), n_token);
  };
  const auto mixing = [&](ProjectionScheme scheme) {
    return cost(scheme, CostTerm::qk) + cost(scheme, CostTerm::av);
  };
  const double many = mixing(ProjectionScheme::dense);
  const double one = mixing(ProjectionScheme::single_head);
  const double projections = cost(ProjectionScheme::dense, CostTerm::projections) +
                             cost(ProjectionScheme::dense, CostTerm::output);
  Claim claim;
  claim.number = 3;
  claim.source = vaswani;
  claim.arithmetic = true;
  claim.statement =
      "QK' and AV cost the same for one head or many; projections and softmax do not vanish.";
  claim.verdict = many == one && projections > 0 ? Verdict::holds : Verdict::does_not_hold;
  claim.effect_name = "multiply-accumulates of QK' and AV, many heads relative to one";
  claim.effect.value = many / one;
  claim.exact = true;
  claim.evidence =
      "At T = " + std::to_string(config.n_ctx) + ", QK' and AV take " + integer_text(many) +
      " multiply-accumulates a layer with " + heads_of_layer_text(config) + " and " +
      integer_text(one) + " with one. The projections take " + integer_text(projections) +
      " more (" + percent(projections / (projections + many)) + " of the sum), and the softmax " +
      integer_text(cost(ProjectionScheme::dense, CostTerm::softmax_exponentials)) +
      " exponentials instead of " +
      integer_text(cost(ProjectionScheme::single_head, CostTerm::softmax_exponentials)) +
      ". The numbers follow by arithmetic, hence exactly; the claim holds when QK' and AV are "
      "equal and the rest is not zero.";
  return claim;
}

/// A sentence comparing the matrices with permuted inputs.
std::string permutation_text(const ResultsGroup& group, const ModelConfig& config,
                             std::size_t n_null) {
  const std::vector<double> z = values_of_several_blocks(group, "block_energy_z", config),
                            p = values_of_several_blocks(group, "block_energy_p", config);
  if (z.empty() || p.empty()) return "";
  const std::string against =
                        " Against " + std::to_string(n_null) + " permutations of the input rows, ",
                    largest = "the largest z is " + decimals(*std::ranges::max_element(z), 1);
  // p is a whole number over n_null + 1.
  const auto n_possible = static_cast<double>(n_null + 1);
  const double n_significant = std::ceil(significant_q * n_possible) - 1;
  if (n_significant < 1) {
    return against + largest + "; so few permutations give no p < 0.05 (at least 20 can).";
  }
  const auto above = std::ranges::count_if(p, [](double value) { return value < significant_q; });
  return against + std::to_string(above) + " of " + std::to_string(p.size()) +
         " matrices lie above chance at p < 0.05 (" +
         decimals(n_significant / n_possible * static_cast<double>(p.size()), 1) +
         " expected by chance); " + largest + ".";
}

Claim block_diagonal_claim(const ModelConfig& config, const AnalysisSettings& settings,
                           const ResultsGroup& group) {
  Claim claim;
  claim.number = 4;
  claim.source = "drawings of multi-head attention that give each head its own input dimensions";
  claim.statement = "The projections are block-diagonal over input dimensions.";
  claim.effect_name =
      "share of the squared weights in the diagonal blocks (1: block-diagonal; chance 1/h); mean "
      "and central 95 % over projections and layers";

  const std::vector<double> energy = values_of_several_blocks(group, "block_energy", config);
  if (energy.empty()) {
    claim.evidence =
        config.n_head == 1
            ? "With one head a projection is a single block, so there is nothing to tell apart."
            : "All projections are zero, or cannot be cut into blocks.";
    return claim;
  }
  const double chance = mean_chance_of_several_blocks(group, config);
  claim.effect = percentile_estimate(arma::mean(arma::vec(energy)), energy);
  claim.verdict = verdict_of(claim.effect, Side::at_least, block_diagonal_energy);
  claim.evidence =
      "Mean block energy " + decimals(claim.effect.value, 4) + ", chance " + decimals(chance, 4) +
      ", largest " + decimals(*std::ranges::max_element(energy), 4) + "." + left_out_text(config) +
      permutation_text(group, config, settings.n_null) +
      " The claim holds when the interval lies above " + decimals(block_diagonal_energy, 1) +
      ", fails when it lies below, and is undecided otherwise.";
  return claim;
}

}  // namespace

std::string heads_of_layer_text(const ModelConfig& config) {
  const bool says_all = !config.pruned_heads.empty() && config.n_head > 1;
  return (says_all ? "all of its " : "") + count_text(config.n_head, "head");
}

std::vector<Claim> parameter_claims(const Model& model, const AnalysisSettings& settings,
                                    const ResultsGroup& group) {
  return {splitting_claim(model, settings), parameter_count_claim(model), cost_claim(model.config),
          block_diagonal_claim(model.config, settings, group)};
}

}  // namespace headscope
