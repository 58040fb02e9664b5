#include "pruning/results.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/random.hpp"
#include "pruning/costliest.hpp"
#include "pruning/direct_effects.hpp"
#include "pruning/orders.hpp"
#include "pruning/phases.hpp"
#include "pruning/pruning.hpp"
#include "random_draws.hpp"
#include "report_text.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

/// Row in the statistics of each ablation in the results: zero, mean, resample.
constexpr std::size_t ablation_rows[] = {0, 1, resample_row};

/// Adds how many heads have an interval for their loss increase, and how many of those increases
/// are not measurable; removed heads are left out.
void add_harmless(const ModelConfig& config, ResultsGroup& group) {
  const Variable& increase = group.variable("loss_increase");
  const Shape& shape = increase.values.shape;
  const double baseline = group.scalar("loss_baseline");
  Array n_interval({shape[0]}), n_harmless = n_interval;
  for (std::size_t i = 0; i < increase.values.size(); ++i) {
    const Estimate of_head = increase.estimate(i);
    const std::vector<std::size_t> place = unravelled(i, shape);
    const HeadIndex head{place[1], place[2]};
    if (!of_head.has_interval() || std::ranges::binary_search(config.pruned_heads, head)) continue;
    n_interval(place[0]) += 1;
    // One without width is not shown to be harmless either.
    if (!(of_head.low > rounding_of(baseline))) n_harmless(place[0]) += 1;
  }
  group.add(pruning_variables()["n_interval"], n_interval);
  group.add(pruning_variables()["n_harmless"], n_harmless);
}

/// Adds how well a head's first-order effect follows its exact one from document to document.
void add_first_order_r2(const DocumentRows& rows, const ModelConfig& config, ResultsGroup& group) {
  Array r2({config.n_layer, config.n_head}, std::nan(""));
  for (std::size_t head_index = 0; head_index < r2.size() && rows.size() > 2; ++head_index) {
    r2.values[head_index] = first_order_r2(rows, head_index);
  }
  group.add(pruning_variables()["first_order_r2"], r2);
}

void add_loss_increase(const DocumentRows& rows, const ModelConfig& config,
                       const AnalysisSettings& settings, ResultsGroup& group) {
  const std::vector<Estimate> estimates =
      estimates_of_phases(rows, settings, [&](const PhaseWeights& weights) {
        const Array increases = loss_increases(rows, weights);
        std::vector<double> ablated;
        for (const std::size_t row : ablation_rows) {
          const Array by_head = increases.part(row);
          ablated.insert(ablated.end(), by_head.values.begin(), by_head.values.end());
        }
        return ablated;
      });
  const bool is_exact = rows.gradient_only.size() == 0,
             is_regressed = !is_exact && static_cast<double>(rows.size()) >= least_regressed;
  group.add(
      pruning_variables()["loss_increase"]
          .with("resampled", phases_resampled(rows))
          .with("n_donor", std::to_string(settings.options<PruningOptions>().n_donor))
          .with("combined",
                is_exact ? ""
                         : "; exact on n_document_ablated documents and predicted by the gradient "
                           "on n_document_first_order, " +
                               std::string(is_regressed ? "combined by regression"
                                                        : "corrected by the mean difference"))
          .with("regression",
                !is_regressed ? "" : "; Cochran 1977, Sampling Techniques, chapter 12"),
      estimates);
  add_harmless(config, group);
  add_first_order_r2(rows, config, group);

  const PhaseWeights once = both_phases_once(rows);
  const double baseline = baseline_loss(rows, once);
  group.add(pruning_variables()["loss_all_but_one"],
            loss_increases(rows, once).part(all_but_one_row).mapped([&](double increase) {
              return increase + baseline;
            }));
}

/// Adds how far the loss increases of resample depend on the donors.
void add_donor_error(const Statistics& statistics, const DocumentRows& rows,
                     const ModelConfig& config, ResultsGroup& group) {
  const Array sums = statistics.total("donor_variance");
  const std::size_t n_head_total = sums.size() - n_donor_part;
  const double n_predicted = weighted_sum(rows.n_predicted, every_document_once(rows));
  const auto error = [&](double variance) {
    const bool is_unknown = sums(n_head_total + donor_n_without) > 0;
    return is_unknown ? std::nan("") : std::sqrt(variance) / n_predicted;
  };
  Array of_heads({config.n_layer, config.n_head});
  for (std::size_t i = 0; i < n_head_total; ++i) of_heads.values[i] = error(sums(i));
  group.add(pruning_variables()["donor_error"], of_heads);
  group.add(pruning_variables()["donor_error_sum"],
            error(sums(n_head_total + donor_sum_over_heads)));
}

/// Adds the intervals of the loss increases as means over the corpus's documents.
void add_corpus_half_widths(const DocumentRows& rows, const AnalysisSettings& settings,
                            ResultsGroup& group) {
  const Array half_widths = corpus_half_widths(rows, group.scalar("n_document"), settings);
  const Array& donor_error = group.values("donor_error");
  Array chosen({std::size(ablation_rows), donor_error.shape[0], donor_error.shape[1]});
  for (std::size_t i = 0; i < std::size(ablation_rows); ++i) {
    chosen.set(half_widths.matrix(ablation_rows[i]), i);
  }
  // Donors are drawn even if all documents are ablated. The correction for a finite corpus in
  // `half_widths` removed this share of the variance between donors, which is added here.
  const double ablated_share = static_cast<double>(rows.size()) / group.scalar("n_document");
  for (std::size_t i = 0; i < donor_error.size(); ++i) {
    double& half_width = chosen.values[resample_place * donor_error.size() + i];
    half_width = std::hypot(half_width,
                            normal_half_width() * std::sqrt(ablated_share) * donor_error.values[i]);
  }
  group.add(pruning_variables()["loss_increase_corpus_half_width"], chosen);
}

/// Adds how far the loss increases by zero ablation are from float32's, measured on some heads. It
/// is relative to increases above rounding, which those of pruned heads are not.
void add_precision_error(const Statistics& statistics, const DocumentRows& rows,
                         ResultsGroup& group) {
  if (!statistics.has("float32")) return;
  std::vector<const Array*> samples;
  for (const auto& [document, row] : statistics.rows("float32")) samples.push_back(&row);
  const BootstrapCounts once = every_document_once(rows);
  const Array exact = weighted(samples, once), zero = exact_increases(rows, once).part(0);
  const double n_predicted = weighted_sum(rows.n_predicted, once),
               baseline = weighted_sum(rows.baseline, once),
               rounding = rounding_of(baseline / n_predicted);
  std::vector<double> sizes, relative;
  for (const double increase : zero.values) {
    if (std::abs(increase) > rounding) sizes.push_back(std::abs(increase));
  }
  double worst = 0;
  const std::vector<Index> sample = precision_sample(zero.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double increase = (exact(i) - baseline) / n_predicted;
    const double error = std::abs(zero.values[sample[i]] - increase);
    if (std::abs(increase) > rounding) relative.push_back(error / std::abs(increase));
    worst = std::max(worst, error);
  }
  if (relative.empty() || sizes.empty()) return;
  group.add_dimension(Dimension::labels("statistic", {"median_relative", "worst_of_typical"}));
  group.add(pruning_variables()["precision_error"].with("n_head", std::to_string(sample.size())),
            std::vector{arma::median(arma::vec(relative)), worst / arma::median(arma::vec(sizes))});
}

void add_importance(const DocumentRows& rows, const ModelConfig& config, ResultsGroup& group) {
  const Array importance = mean_importance(rows, every_document_once(rows));
  Array normalized(importance.shape);
  for (std::size_t variant = 0; variant < n_importance; ++variant) {
    normalized.set(normalized_by_layer(importance.part(variant)).matrix(), variant);
  }
  group.add(pruning_variables()["importance"], importance);
  group.add(pruning_variables()["importance_normalized"], normalized);
  const auto of_heads_left = [left = config.heads_left()](const Array& by_head) {
    std::vector<double> values;
    for (const Index head_index : left) values.push_back(by_head.values[head_index]);
    return values;
  };
  const std::vector<double> zero = of_heads_left(group.values("loss_increase").part(0));
  std::vector<double> correlation;
  for (std::size_t variant = 0; variant < n_importance; ++variant) {
    correlation.push_back(spearman(of_heads_left(importance.part(variant)), zero));
  }
  group.add(pruning_variables()["first_order_correlation"], correlation.back());
  group.add(pruning_variables()["importance_correlation"], correlation);
}

/// Sums of blocks of even and of odd documents: the lowest bit of a block's number is that of its
/// documents.
std::array<Array, 2> sums_by_half(const Array& sums, const BootstrapCounts& weights) {
  std::array<BootstrapCounts, 2> of_half{BootstrapCounts(weights.size(), 0),
                                         BootstrapCounts(weights.size(), 0)};
  for (std::size_t block = 0; block < weights.size(); ++block) {
    of_half[block % 2][block] = weights[block];
  }
  return {sums.weighted_sum(of_half[0]), sums.weighted_sum(of_half[1])};
}

void add_loss(const Statistics& statistics, const AnalysisSettings& settings, ResultsGroup& group) {
  const Array n_document = statistics.total("n_document"), sums = statistics.total("loss");
  std::vector<Estimate> loss =
      settings.bootstrap(n_document.values).estimates([&](const BootstrapCounts& weights) {
        const Array nats_and_predicted = sums.weighted_sum(weights);
        const auto [even, odd] = sums_by_half(sums, weights);
        return std::vector<double>{nats_and_predicted(0) / nats_and_predicted(1), even(0) / even(1),
                                   odd(0) / odd(1)};
      });
  for (Estimate& estimate : loss) {
    estimate = within(std::move(estimate), 0, std::numeric_limits<double>::infinity());
  }
  group.add(pruning_variables()["loss"], std::vector<Estimate>{loss[0]});
  group.add_dimension(Dimension::labels("half", {"even", "odd"}));
  group.add(pruning_variables()["loss_by_half"], std::vector<Estimate>{loss[1], loss[2]});
  group.add(pruning_variables()["n_document"],
            std::accumulate(n_document.values.begin(), n_document.values.end(), 0.0));
}

void add_direct_effects(const DocumentRows& rows, const ModelConfig& config,
                        const AnalysisSettings& settings, ResultsGroup& group) {
  const auto mean = [&](const std::vector<const Array*>& logits, const BootstrapCounts& weights) {
    const double n_predicted = weighted_sum(rows.n_predicted, weights);
    return weighted(logits, weights).mapped([&](double sum) { return sum / n_predicted; });
  };
  const std::vector<Estimate> heads =
      bootstrap_of(rows, settings).estimates([&](const BootstrapCounts& weights) {
        return mean(rows.direct_head, weights).values;
      });
  group.add(pruning_variables()["direct_effect"], heads);
  const Array parts = mean(rows.direct_part, every_document_once(rows));
  std::vector<double> mlps = parts.values;
  mlps.resize(config.n_layer);
  group.add(pruning_variables()["direct_effect_mlp"], mlps);
  for (const auto& [name, part] : {std::pair("direct_effect_embedding", direct_embedding),
                                   {"direct_effect_bias", direct_bias},
                                   {"direct_effect_total", direct_total}}) {
    group.add(pruning_variables()[name], parts(config.n_layer + part));
  }
}

std::string harmless_text(const ResultsGroup& group) {
  if (group.values("n_interval")(0) == 0) {
    return "Without intervals the run cannot tell which heads can be set to zero without a loss "
           "increase; intervals take at least " +
           std::to_string(least_documents) + " documents and " + std::to_string(least_resamples) +
           " resamples.";
  }
  return harmless_heads_text(group) + " be set to zero without a measurable loss increase.";
}

/// The loss over all documents, and over those whose heads were ablated if these are fewer.
std::string loss_text(const ResultsGroup& group, const DocumentRows& rows) {
  const std::string baseline = number_text(group.scalar("loss_baseline"), 3) + " nats per token";
  const auto on = [](std::size_t n) { return "On " + count_text(n, "document") + " the loss is "; };
  const Estimate loss = group.variable("loss").estimate(0);
  const auto n_read = static_cast<std::size_t>(group.scalar("n_document"));
  std::string text = on(n_read) + number_text(loss.value, 3) + " nats per token";
  if (loss.has_interval()) {
    text +=
        " (95 % interval " + number_text(loss.low, 3) + " to " + number_text(loss.high, 3) + ")";
  }
  const auto n_first_order = static_cast<std::size_t>(group.scalar("n_document_first_order"));
  if (n_read != n_first_order) {
    text += ". On the " + std::to_string(n_first_order) + " documents, spread evenly, on which " +
            (rows.gradient_only.size() == 0 ? "heads were ablated" : "the gradient was taken") +
            " the loss is " + baseline;
  }
  return text + ".";
}

/// How well importance follows the loss increase; empty where no correlation is known.
std::string correlation_text(const ResultsGroup& group) {
  const Array& correlation = group.values("importance_correlation");
  std::vector<std::string> known;
  for (const auto& [variant, of] :
       {std::pair{std::size_t{1},
                  " for the importance of Michel et al. (|sum of z.g| per example)"},
        {std::size_t{2}, " for the signed first-order prediction"}}) {
    if (!std::isnan(correlation(variant))) known.push_back(decimals(correlation(variant), 2) + of);
  }
  if (known.empty()) return "";
  return " Spearman's correlation with the loss increase by zero ablation is " +
         joined(known, " and ") + ".";
}

std::string costliest_text(const CostliestHead& head) {
  return "Setting " + head.name() + " to zero costs " + head.most() + " (+" +
         number_text(head.rise(), 3) + " nats).";
}

std::string summary_text(const ResultsGroup& group, const DocumentRows& rows,
                         const ModelConfig& config) {
  const std::vector<Index> left = config.heads_left();
  const std::string loss = loss_text(group, rows) + " ";
  if (left.empty()) return loss + no_head_left_text;
  return loss + CostliestHead(group, {left.begin(), left.end()}, zero_place).text(costliest_text) +
         " " + harmless_text(group) + correlation_text(group);
}

/// A model that does worse than guessing is not read as it was trained: no claim is settled.
void doubt_a_loss_above_chance(const ModelConfig& config, ResultsGroup& group) {
  const std::string warning = loss_warning(group, config.d_vocab);
  if (warning.empty()) return;
  for (Claim& claim : group.claims) {
    claim.verdict = Verdict::undecided;
    claim.evidence = "Not decided, since " + warning + " " + claim.evidence;
  }
}

}  // namespace

std::vector<std::vector<Index>> pruning_orders(const Statistics& statistics,
                                               const ModelConfig& config, std::uint64_t seed) {
  const DocumentRows rows = document_rows(statistics);
  const PhaseWeights even = even_documents(rows);
  const Array zero = loss_increases(rows, even).part(0);
  const Array per_example = mean_importance(rows, even.ablated).part(1);
  std::vector<std::vector<Index>> orders{ascending_heads(zero),
                                         ascending_heads(normalized_by_layer(per_example))};
  for (std::size_t i = 0; i < n_random_order; ++i) {
    orders.push_back(
        permutation(config.n_layer * config.n_head, CounterRandom(CounterRandom(seed).value(i))));
  }
  for (std::vector<Index>& order : orders) {
    std::erase_if(order, [left = config.heads_left()](Index head_index) {
      return !std::ranges::binary_search(left, head_index);
    });
  }
  return orders;
}

ResultsGroup pruning_results(const Statistics& statistics, const ModelConfig& config,
                             const AnalysisSettings& settings) {
  const DocumentRows rows = document_rows(statistics);
  ResultsGroup group;
  group.name = "pruning";
  group.add_dimension(Dimension::labels("ablation", {"zero", "mean", "resample"}));
  group.add_dimension(Dimension::labels("variant", {"per_token", "per_example", "signed"}));
  group.add_dimension(Dimension::labels("order", {"ablation", "importance", "random"}));
  group.add_dimension(Dimension::count("layer", config.n_layer));
  group.add_dimension(Dimension::count("head", config.n_head));
  std::vector<double> steps(n_curve_step);
  for (std::size_t step = 0; step < n_curve_step; ++step)
    steps[step] = static_cast<double>(step) / (n_curve_step - 1);
  group.add_dimension(Dimension::numbers("step", steps));

  const std::vector<Estimate> loss =
      estimates_of_phases(rows, settings, [&](const PhaseWeights& weights) {
        return std::vector<double>{baseline_loss(rows, weights)};
      });
  group.add(pruning_variables()["loss_baseline"].with("resampled", phases_resampled(rows)), loss);
  const auto n_ablated = static_cast<double>(rows.size());
  group.add(pruning_variables()["n_document_ablated"], n_ablated);
  group.add(pruning_variables()["n_document_first_order"],
            n_ablated + rows.gradient_only.n_document);
  add_loss(statistics, settings, group);
  add_loss_increase(rows, config, settings, group);
  add_donor_error(statistics, rows, config, group);
  add_corpus_half_widths(rows, settings, group);
  add_precision_error(statistics, rows, group);
  add_importance(rows, config, group);
  add_direct_effects(rows, config, settings, group);
  if (!rows.curve.empty()) {
    add_pruning_curves(rows, config, settings, group);
  }
  group.summary = summary_text(group, rows, config);
  doubt_a_loss_above_chance(config, group);
  return group;
}

}  // namespace headscope
