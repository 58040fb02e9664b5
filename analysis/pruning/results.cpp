#include "pruning/results.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

#include "headscope/error.hpp"
#include "headscope/random.hpp"
#include "pruning/orders.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const char* const michel = "Michel et al. 2019, Are Sixteen Heads Really Better than One?";

/// What the statistics hold, a row per document in order.
struct DocumentRows {
  std::vector<double> baseline;  ///< nats, summed over the document's predicted tokens
  std::vector<double> n_predicted;
  std::vector<const Array*> ablated;     ///< n_ablation_row x layer x head, nats summed
  std::vector<const Array*> importance;  ///< n_importance x layer x head
  std::vector<const Array*>
      curve;  ///< 2 x order x step: nats summed, correct tokens; empty before pass 2

  std::size_t size() const { return baseline.size(); }
};

DocumentRows document_rows(const Statistics& statistics) {
  if (!statistics.has("baseline"))
    throw Error("pruning: expected a document of at least 2 tokens, got none");
  DocumentRows rows;
  for (const auto& [document, row] : statistics.rows("baseline")) {
    rows.baseline.push_back(row(0));
    rows.n_predicted.push_back(row(1));
    rows.ablated.push_back(&statistics.rows("ablated").at(document));
    rows.importance.push_back(&statistics.rows("importance").at(document));
    if (statistics.has("curve")) rows.curve.push_back(&statistics.rows("curve").at(document));
  }
  return rows;
}

/// Sum over documents, each taken as often as its weight says.
double weighted(const std::vector<double>& values, const std::vector<std::uint32_t>& weights) {
  return std::inner_product(values.begin(), values.end(), weights.begin(), 0.0);
}

/// Element-wise weighted sum of equal-shaped rows.
std::vector<double> weighted(const std::vector<const Array*>& rows,
                             const std::vector<std::uint32_t>& weights) {
  std::vector<double> sum(rows.front()->size(), 0.0);
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (weights[d] == 0) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weights[d] * rows[d]->values[i];
  }
  return sum;
}

/// Mean loss with each ablation minus the baseline, nats per predicted token: n_ablation_row x
/// layer x head.
std::vector<double> loss_increases(const DocumentRows& rows,
                                   const std::vector<std::uint32_t>& weights) {
  const double n_predicted = weighted(rows.n_predicted, weights),
               baseline = weighted(rows.baseline, weights);
  std::vector<double> increases = weighted(rows.ablated, weights);
  for (double& value : increases) value = (value - baseline) / n_predicted;
  return increases;
}

std::vector<std::uint32_t> every_document_once(const DocumentRows& rows) {
  return std::vector<std::uint32_t>(rows.size(), 1);
}

/// The part `index` of an array whose first axis counts parts.
Array part(const std::vector<double>& values, std::size_t index, const Shape& shape) {
  const std::size_t size = shape[0] * shape[1];
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index * size);
  return Array(shape, std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(size)));
}

/// Importance, mean over documents: n_importance x layer x head.
Array mean_importance(const DocumentRows& rows, const ModelConfig& config) {
  Array mean({n_importance, config.n_layer, config.n_head},
             weighted(rows.importance, every_document_once(rows)));
  for (double& value : mean.values) value /= static_cast<double>(rows.size());
  return mean;
}

/// Index in the statistics of each method in the order of the results: zero, mean, resample.
constexpr std::size_t method_rows[] = {0, 1, 3};
constexpr std::size_t all_but_one_row = 2;

/// How many heads have an interval of their loss increase, and how many of those one that does not
/// lie above 0.
void add_harmless(ResultsGroup& group) {
  const Array& low = group.variable("loss_increase_ci_low").values;
  Array n_interval({low.shape[0]}), n_harmless = n_interval;
  for (std::size_t method = 0; method < low.shape[0]; ++method) {
    for (std::size_t layer = 0; layer < low.shape[1]; ++layer) {
      for (std::size_t head = 0; head < low.shape[2]; ++head) {
        const double end = low(method, layer, head);
        if (std::isnan(end)) continue;
        n_interval(method) += 1;
        if (end <= 0) n_harmless(method) += 1;
      }
    }
  }
  group.add(Variable::integer("n_interval", {"method"}, n_interval,
                              "heads whose loss_increase has an interval", "count",
                              own_definition));
  group.add(Variable::integer("n_harmless", {"method"}, n_harmless,
                              "heads whose interval of loss_increase does not lie above 0: "
                              "without them the loss is not distinguishably higher",
                              "count", own_definition));
}

void add_loss_increase(const DocumentRows& rows, const ModelConfig& config,
                       const AnalysisSettings& settings, ResultsGroup& group) {
  const Shape head_shape{config.n_layer, config.n_head};
  const std::vector<double> increases = loss_increases(rows, every_document_once(rows));
  const DocumentBootstrap bootstrap(rows.size(), settings.n_bootstrap, settings.seed);
  std::vector<std::vector<double>> resampled(increases.size());
  for (std::size_t i = 0; i < bootstrap.n_resample(); ++i) {
    const std::vector<double> draw = loss_increases(rows, bootstrap.draw(i));
    for (std::size_t j = 0; j < draw.size(); ++j) resampled[j].push_back(draw[j]);
  }

  const std::size_t n_unit = config.n_layer * config.n_head;
  Array value({3, config.n_layer, config.n_head}), low = value, high = value;
  for (std::size_t method = 0; method < 3; ++method) {
    for (std::size_t unit = 0; unit < n_unit; ++unit) {
      const std::size_t from = method_rows[method] * n_unit + unit, to = method * n_unit + unit;
      value.values[to] = increases[from];
      const Interval interval =
          std::isnan(increases[from]) ? Interval{nan, nan} : percentile_interval(resampled[from]);
      low.values[to] = interval.low;
      high.values[to] = interval.high;
    }
  }
  const std::vector<std::string> dimensions{"method", "layer", "head"};
  group.add(Variable::real(
      "loss_increase", dimensions, value,
      "mean loss with one head ablated minus the baseline; zero: z set to 0; mean: z "
      "set to its mean over "
      "the tokens of these documents, position 0 left out; resample: z of another "
      "document at the same "
      "position, own z where no other document is as long",
      "nats per token", michel));
  const std::string bounds =
      " of the 95 % interval of loss_increase, documents resampled in pairs with the baseline";
  group.add(Variable::real("loss_increase_ci_low", dimensions, low, "lower bound" + bounds,
                           "nats per token", ""));
  group.add(Variable::real("loss_increase_ci_high", dimensions, high, "upper bound" + bounds,
                           "nats per token", ""));

  add_harmless(group);

  Array all_but_one = part(increases, all_but_one_row, head_shape);
  const auto once = every_document_once(rows);
  const double baseline = weighted(rows.baseline, once) / weighted(rows.n_predicted, once);
  for (double& loss : all_but_one.values) loss += baseline;
  group.add(Variable::real("loss_all_but_one", {"layer", "head"}, all_but_one,
                           "mean loss with every other head of the layer set to zero",
                           "nats per token", std::string(michel) + ", table 2"));
}

void add_importance(const DocumentRows& rows, const ModelConfig& config, ResultsGroup& group) {
  const Shape head_shape{config.n_layer, config.n_head};
  const Array importance = mean_importance(rows, config);
  Array normalized({n_importance, config.n_layer, config.n_head});
  for (std::size_t variant = 0; variant < n_importance; ++variant) {
    const Array one = normalized_by_layer(part(importance.values, variant, head_shape));
    std::copy(one.values.begin(), one.values.end(),
              normalized.values.begin() + static_cast<std::ptrdiff_t>(variant * one.size()));
  }
  const std::vector<std::string> dimensions{"variant", "layer", "head"};
  group.add(Variable::real(
      "importance", dimensions, importance,
      "mean over documents, g being the gradient of the document's mean loss by z: "
      "per_token sums |z.g| over "
      "tokens, per_example is |sum of z.g|, signed is -(sum of z.g), the first-order "
      "prediction of zero "
      "ablation",
      "nats per token", michel));
  group.add(Variable::real("importance_normalized", dimensions, normalized,
                           "importance, each layer's vector divided by its L2 norm", "1",
                           "Molchanov et al. 2017; Michel et al. 2019"));
  const Array& increase = group.variable("loss_increase").values;
  const Array zero = part(increase.values, 0, head_shape),
              sign = part(importance.values, 2, head_shape);
  group.add(Variable::real(
      "first_order_correlation", {}, Array(Shape{}, spearman(sign.values, zero.values)),
      "Spearman's rank correlation over heads between signed importance and the loss "
      "increase of zero "
      "ablation",
      "1", michel));
}

/// Loss (part 0) or accuracy (part 1) of each order and step, per predicted token: order x step.
std::vector<double> curve_means(const DocumentRows& rows,
                                const std::vector<std::uint32_t>& weights) {
  std::vector<double> means = weighted(rows.curve, weights);
  const double n_predicted = weighted(rows.n_predicted, weights);
  for (double& value : means) value /= n_predicted;
  return means;
}

void add_curves(const DocumentRows& rows, ResultsGroup& group) {
  const std::vector<double> means = curve_means(rows, every_document_once(rows));
  Array loss({3, n_curve_step}), accuracy = loss, deviation({n_curve_step});
  const auto at = [&](std::size_t kind, std::size_t order, std::size_t step) {
    return means[(kind * n_curve_order + order) * n_curve_step + step];
  };
  for (std::size_t step = 0; step < n_curve_step; ++step) {
    for (std::size_t order = 0; order < 2; ++order) {
      loss(order, step) = at(0, order, step);
      accuracy(order, step) = at(1, order, step);
    }
    double squares = 0;
    for (std::size_t order = 2; order < n_curve_order; ++order) {
      loss(2, step) += at(0, order, step) / n_random_order;
      accuracy(2, step) += at(1, order, step) / n_random_order;
    }
    for (std::size_t order = 2; order < n_curve_order; ++order) {
      squares += std::pow(at(0, order, step) - loss(2, step), 2);
    }
    deviation(step) = std::sqrt(squares / (n_random_order - 1));
  }
  const std::string orders =
      "; heads in ascending order of their zero-ablation loss increase (ablation), of their "
      "layer-normalized per_example "
      "importance (importance), or in random order, the mean of 5 seeded ones (random); step is "
      "the share left out";
  group.add(Variable::real("curve", {"order", "step"}, loss,
                           "mean loss with the first heads of an order set to zero" + orders,
                           "nats per token", michel));
  group.add(Variable::real("curve_random_std", {"step"}, deviation,
                           "standard deviation of the loss over the 5 random orders",
                           "nats per token", michel));
  group.add(Variable::real("curve_accuracy", {"order", "step"}, accuracy,
                           "share of tokens predicted as most probable" + orders, "1", michel));
}

/// The largest share of heads whose removal, and that of every smaller share, keeps the loss within
/// (1 + tolerance) of the baseline, by the better of the two informed orders.
double prunable_share(const std::vector<double>& means, double baseline, double tolerance) {
  double best = 0;
  for (std::size_t order = 0; order < 2; ++order) {
    for (std::size_t step = 1; step < n_curve_step; ++step) {
      if (means[order * n_curve_step + step] > (1 + tolerance) * baseline) break;
      best = std::max(best, static_cast<double>(step) / (n_curve_step - 1));
    }
  }
  return best;
}

std::string percent(double share) {
  std::ostringstream text;
  text.precision(3);
  text << 100 * share << " %";
  return text.str();
}

Claim prunable_claim(const DocumentRows& rows, const AnalysisSettings& settings, double tolerance) {
  constexpr double many = 0.2;
  const auto share = [&](const std::vector<std::uint32_t>& weights) {
    const double baseline = weighted(rows.baseline, weights) / weighted(rows.n_predicted, weights);
    return prunable_share(curve_means(rows, weights), baseline, tolerance);
  };
  const DocumentBootstrap bootstrap(rows.size(), settings.n_bootstrap, settings.seed);
  std::vector<double> shares;
  for (std::size_t i = 0; i < bootstrap.n_resample(); ++i)
    shares.push_back(share(bootstrap.draw(i)));
  const Interval interval = percentile_interval(std::move(shares));

  Claim claim;
  claim.number = 9;
  claim.statement =
      "Many heads can be pruned at little cost (within " + percent(tolerance) + " of the loss).";
  claim.effect_name = "share of heads that can be set to zero within " + percent(tolerance) +
                      " of the baseline loss";
  claim.effect = share(every_document_once(rows));
  claim.ci_low = interval.low;
  claim.ci_high = interval.high;
  claim.verdict = interval.low >= many   ? Verdict::holds
                  : interval.high < many ? Verdict::does_not_hold
                                         : Verdict::undecided;
  claim.evidence = percent(claim.effect) +
                   " of the heads can go, taken in steps of a tenth by the better of the two "
                   "informed orders, before the loss exceeds " +
                   percent(1 + tolerance) +
                   " of the baseline. It holds when the interval lies at or above " +
                   percent(many) + ", fails when below.";
  return claim;
}

std::string harmless_text(const ResultsGroup& group) {
  const auto n_interval = static_cast<std::size_t>(group.variable("n_interval").values(0));
  if (n_interval == 0) {
    return "Which heads can be set to zero without a loss increase cannot be told: there are no "
           "intervals, which take at least two documents and " +
           std::to_string(least_resamples) + " resamples.";
  }
  const auto n_harmless = static_cast<std::size_t>(group.variable("n_harmless").values(0));
  return std::to_string(n_harmless) + " of " + std::to_string(n_interval) +
         " heads can each be set to zero without a loss increase distinguishable from none.";
}

std::string summary_text(const ResultsGroup& group, const DocumentRows& rows) {
  const Array& increase = group.variable("loss_increase").values;
  const std::size_t n_head = increase.shape[2], n_unit = increase.shape[1] * n_head;
  std::size_t worst = 0;
  for (std::size_t unit = 0; unit < n_unit; ++unit) {
    if (increase.values[unit] > increase.values[worst]) worst = unit;
  }
  std::ostringstream text;
  text.precision(3);
  text << "On " << rows.size() << (rows.size() == 1 ? " document" : " documents") << " the loss is "
       << group.variable("loss_baseline").values.values[0]
       << " nats per token. The head whose removal costs most is "
       << HeadIndex{worst / n_head, worst % n_head}.text() << " (+" << increase.values[worst]
       << " nats). " << harmless_text(group)
       << " First-order importance ranks heads as zero ablation does with Spearman correlation "
       << group.variable("first_order_correlation").values.values[0] << ".";
  return text.str();
}

}  // namespace

std::vector<std::vector<Index>> pruning_orders(const Statistics& statistics,
                                               const ModelConfig& config, std::uint64_t seed) {
  const DocumentRows rows = document_rows(statistics);
  const Shape head_shape{config.n_layer, config.n_head};
  const Array zero = part(loss_increases(rows, every_document_once(rows)), 0, head_shape);
  const Array per_example = part(mean_importance(rows, config).values, 1, head_shape);
  std::vector<std::vector<Index>> orders{ascending_units(zero),
                                         ascending_units(normalized_by_layer(per_example))};
  for (std::size_t i = 0; i < n_random_order; ++i) {
    orders.push_back(
        permutation(config.n_layer * config.n_head, CounterRandom(CounterRandom(seed).value(i))));
  }
  return orders;
}

ResultsGroup pruning_results(const Statistics& statistics, const ModelConfig& config,
                             const AnalysisSettings& settings, const std::string& source) {
  const DocumentRows rows = document_rows(statistics);
  ResultsGroup group;
  group.name = "pruning";
  group.title = "Head pruning";
  group.add_dimension(Dimension::labels("method", {"zero", "mean", "resample"}));
  group.add_dimension(Dimension::labels("variant", {"per_token", "per_example", "signed"}));
  group.add_dimension(Dimension::labels("order", {"ablation", "importance", "random"}));
  group.add_dimension(Dimension::count("layer", config.n_layer));
  group.add_dimension(Dimension::count("head", config.n_head));
  std::vector<double> steps(n_curve_step);
  for (std::size_t step = 0; step < n_curve_step; ++step)
    steps[step] = static_cast<double>(step) / (n_curve_step - 1);
  group.add_dimension(Dimension::numbers("step", steps));

  const double baseline = std::accumulate(rows.baseline.begin(), rows.baseline.end(), 0.0);
  const double n_predicted = std::accumulate(rows.n_predicted.begin(), rows.n_predicted.end(), 0.0);
  group.add(Variable::real("loss_baseline", {}, Array(Shape{}, baseline / n_predicted),
                           "mean negative log likelihood of a predicted token with all heads",
                           "nats per token", source));
  add_loss_increase(rows, config, settings, group);
  add_importance(rows, config, group);
  if (!rows.curve.empty()) {
    add_curves(rows, group);
    group.claims.push_back(prunable_claim(rows, settings, 0.01));
    group.claims.push_back(prunable_claim(rows, settings, 0.05));
  }
  group.summary = summary_text(group, rows);
  return group;
}

}  // namespace headscope
