#include "correlation/results.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "correlation/sums.hpp"
#include "headscope/error.hpp"
#include "headscope/number_text.hpp"

namespace headscope {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const char* const spaces[] = {"head", "residual"};
using Weights = std::vector<std::uint32_t>;

/// The matrix of two-dimensional values.
arma::mat matrix(const Array& values) {
  arma::mat result(values.shape[0], values.shape[1]);
  for (Index i = 0; i < result.n_rows; ++i) {
    for (Index j = 0; j < result.n_cols; ++j) result(i, j) = values(i, j);
  }
  return result;
}

/// The blocks that hold documents.
std::vector<std::size_t> used_blocks(const Statistics& statistics) {
  const Array& n_document = statistics.sum("n_document");
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < n_document.size(); ++i) {
    if (n_document(i) > 0) used.push_back(i);
  }
  return used;
}

/// Inner products of heads in a space, summed over used blocks of documents, each taken as often as
/// its weight says: layer x head x head.
Array total_products(const Statistics& statistics, const std::string& space,
                     const Weights& weights) {
  const Array& blocks = statistics.sum(space + "_total");
  Array total(Shape(blocks.shape.begin() + 1, blocks.shape.end()));
  std::size_t place = 0;
  for (const std::size_t used : used_blocks(statistics)) {
    const double weight = weights.empty() ? 1 : weights[place++];
    if (weight == 0) continue;
    const double* const products = blocks.values.data() + used * total.size();
    for (std::size_t i = 0; i < total.size(); ++i) total.values[i] += weight * products[i];
  }
  return total;
}

/// Mean |cosine| of different heads, per space and layer: 2 * n_layer values.
std::vector<double> mean_abs_cosines(const Statistics& statistics, Index n_layer,
                                     const Weights& weights) {
  std::vector<double> means;
  for (const char* space : spaces) {
    const Array total = total_products(statistics, space, weights);
    for (Index layer = 0; layer < n_layer; ++layer) {
      means.push_back(mean_abs_off_diagonal(cosines(matrix(total.part(layer)))));
    }
  }
  return means;
}

/// A statistic with an interval for each of its values, documents resampled.
struct Estimate {
  std::vector<double> value, low, high;
  Interval mean_interval;  ///< of the mean over the residual-space half of the values
  double mean = 0;
};

double residual_mean(const std::vector<double>& values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  double sum = 0;
  Index count = 0;
  std::for_each(half, values.end(), [&](double value) {
    if (std::isnan(value)) return;
    sum += value;
    ++count;
  });
  return count > 0 ? sum / static_cast<double>(count) : nan;
}

Estimate estimate(std::size_t n_block, const AnalysisSettings& settings,
                  const std::function<std::vector<double>(const Weights&)>& statistic) {
  Estimate result;
  result.value = statistic(Weights(n_block, 1));
  result.mean = residual_mean(result.value);
  const DocumentBootstrap bootstrap(n_block, settings.n_bootstrap, settings.seed);
  std::vector<std::vector<double>> resampled(result.value.size());
  std::vector<double> means;
  for (std::size_t i = 0; i < bootstrap.n_resample(); ++i) {
    const std::vector<double> draw = statistic(bootstrap.draw(i));
    for (std::size_t j = 0; j < draw.size(); ++j) resampled[j].push_back(draw[j]);
    means.push_back(residual_mean(draw));
  }
  for (std::vector<double>& values : resampled) {
    const Interval interval = percentile_interval(std::move(values));
    result.low.push_back(interval.low);
    result.high.push_back(interval.high);
  }
  result.mean_interval = percentile_interval(std::move(means));
  return result;
}

void add_estimate(const std::string& name, const Estimate& estimate, Index n_layer,
                  const std::string& long_name, const std::string& references,
                  ResultsGroup& group) {
  const std::vector<std::string> dimensions{"space", "layer"};
  const Shape shape{2, n_layer};
  group.add(Variable::real(name, dimensions, Array(shape, estimate.value), long_name, "cosine",
                           references));
  const std::string bounds = " of the 95 % interval of " + name +
                             ", documents (of a large corpus, 128 blocks of them) resampled";
  group.add(Variable::real(name + "_ci_low", dimensions, Array(shape, estimate.low),
                           "lower bound" + bounds, "cosine", references));
  group.add(Variable::real(name + "_ci_high", dimensions, Array(shape, estimate.high),
                           "upper bound" + bounds, "cosine", references));
}

/// The mean over layers of mean_abs_cosine_difference in residual space.
void add_mean(const Estimate& difference, ResultsGroup& group) {
  const std::string name = "mean_abs_cosine_difference_mean";
  const auto add = [&](const std::string& suffix, double value, const std::string& before) {
    group.add(Variable::real(name + suffix, {}, Array(Shape{}, value),
                             before + "mean over layers of mean_abs_cosine_difference in residual "
                                      "space",
                             "cosine", own_definition));
  };
  add("", difference.mean, "");
  add("_ci_low", difference.mean_interval.low, "lower bound of the 95 % interval of the ");
  add("_ci_high", difference.mean_interval.high, "upper bound of the 95 % interval of the ");
}

void add_cosines(const Statistics& statistics, const ModelConfig& config, ResultsGroup& group) {
  const Index n_layer = config.n_layer, n_head = config.n_head;
  Array cosine({2, n_layer, n_head, n_head}), cosine_token = cosine;
  const double n_token = statistics.sum("n_token")(0);
  for (std::size_t space = 0; space < 2; ++space) {
    const Array total = total_products(statistics, spaces[space], {});
    const Array& token = statistics.sum(std::string(spaces[space]) + "_cosine");
    for (Index layer = 0; layer < n_layer; ++layer) {
      const arma::mat stacked = cosines(matrix(total.part(layer)));
      for (Index i = 0; i < n_head; ++i) {
        for (Index j = 0; j < n_head; ++j) {
          cosine(space, layer, i, j) = stacked(i, j);
          cosine_token(space, layer, i, j) = token(layer, i, j) / n_token;
        }
      }
    }
  }
  const std::vector<std::string> dimensions{"space", "layer", "head_i", "head_j"};
  group.add(Variable::real(
      "cosine", dimensions, cosine,
      "cosine of two heads' outputs stacked over all tokens but position 0; head space: "
      "z, which depends on "
      "each head's own basis; residual space: z W_O",
      "cosine", own_definition));
  group.add(Variable::real("cosine_token", dimensions, cosine_token,
                           "mean over tokens but position 0 of the cosine of two heads' outputs",
                           "cosine", own_definition));
}

void add_cosine_all(const Statistics& statistics, ResultsGroup& group) {
  const Array& all = statistics.sum("all_total");
  const arma::mat across = cosines(matrix(all));
  Array cosine_all(all.shape);
  for (Index i = 0; i < across.n_rows; ++i) {
    for (Index j = 0; j < across.n_cols; ++j) cosine_all(i, j) = across(i, j);
  }
  group.add(Variable::real(
      "cosine_all", {"unit_i", "unit_j"}, cosine_all,
      "cosine in residual space between heads of all layers; unit = layer * n_head + head",
      "cosine", own_definition));
}

void add_cka(const Statistics& statistics, const ModelConfig& config, ResultsGroup& group) {
  const Index n_layer = config.n_layer, n_head = config.n_head;
  Array cka({n_layer, n_head, n_head});
  const Array& sums = statistics.sum("z_sum");
  for (Index layer = 0; layer < n_layer; ++layer) {
    arma::vec sum(config.d_model);
    for (Index i = 0; i < config.d_model; ++i) sum(i) = sums(layer, i);
    const arma::mat values = linear_cka(sum, matrix(statistics.sum("z_product").part(layer)),
                                        statistics.sum("n_token")(0), n_head);
    for (Index i = 0; i < n_head; ++i) {
      for (Index j = 0; j < n_head; ++j) cka(layer, i, j) = values(i, j);
    }
  }
  group.add(Variable::real(
      "cka", {"layer", "head_i", "head_j"}, cka,
      "linear centred kernel alignment of two heads' z over all tokens but position 0", "1",
      "Kornblith et al. 2019"));
}

void add_disagreement(const Statistics& statistics, const ModelConfig& config,
                      ResultsGroup& group) {
  const Index n_layer = config.n_layer;
  Array disagreement({3, n_layer});
  const Array output = total_products(statistics, "head", {});
  const double n_query = statistics.sum("n_token")(0);
  for (Index layer = 0; layer < n_layer; ++layer) {
    const auto mean = [](const arma::mat& values) { return arma::mean(arma::vectorise(values)); };
    disagreement(0, layer) = -mean(cosines(matrix(statistics.sum("value_total").part(layer))));
    disagreement(1, layer) = -mean(matrix(statistics.sum("overlap").part(layer))) / n_query;
    disagreement(2, layer) = -mean(cosines(matrix(output.part(layer))));
  }
  group.add(Variable::real(
      "disagreement", {"kind", "layer"}, disagreement,
      "minus the mean over ordered pairs of heads, a head with itself included, of the "
      "cosine of their values (subspace), of the sum over keys of the product of their attention "
      "per query (position), and of the cosine of z (output); values and z of all tokens stacked, "
      "position 0 left out as a query",
      "1", "Li et al. 2018"));
}

void add_output_share(const Statistics& statistics, const ModelConfig& config,
                      ResultsGroup& group) {
  const Array total = total_products(statistics, "residual", {});
  Array share({config.n_layer, config.n_head});
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const arma::mat products = matrix(total.part(layer));
    const arma::vec along = arma::sum(products, 1);
    for (Index head = 0; head < config.n_head; ++head)
      share(layer, head) = along(head) / arma::accu(along);
  }
  group.add(
      Variable::real("output_share", {"layer", "head"}, share,
                     "share of the squared norm of the layer's summed head outputs that lies along "
                     "this head's output; the heads "
                     "of a layer sum to 1, and a head that works against the others is negative",
                     "1", own_definition));
}

void add_distances(const Statistics& statistics, std::uint64_t seed, ResultsGroup& group) {
  if (!statistics.has("js_distance")) return;
  const Array& sums = statistics.sum("js_distance");
  const double weight = statistics.sum("js_weight")(0), count = statistics.sum("js_count")(0);
  Array distance = sums;
  for (double& value : distance.values) value /= weight;
  const arma::mat points = metric_mds(matrix(distance), CounterRandom(seed, 3));
  Array mds({points.n_rows, 2});
  for (Index i = 0; i < points.n_rows; ++i) {
    for (Index axis = 0; axis < 2; ++axis) mds(i, axis) = points(i, axis);
  }
  group.add(
      Variable::real("js_distance", {"unit_i", "unit_j"}, distance,
                     "square root of the Jensen-Shannon divergence (natural logarithm) between two "
                     "heads' attention, mean over " +
                         number_text(count, 0) +
                         " queries drawn at random from the corpus, each document weighted by its "
                         "length",
                     "sqrt(nats)", "Clark et al. 2019, section 6"));
  group.add(Variable::real(
      "mds", {"unit", "axis"}, mds,
      "two-dimensional metric multidimensional scaling of js_distance (least stress of "
      "several starts)",
      "sqrt(nats)", "Clark et al. 2019, figure 6"));
}

constexpr double low_correlation = 0.3;

Claim low_correlation_claim(const Estimate& cosine) {
  Claim claim;
  claim.number = 6;
  claim.statement = "Different heads' outputs have low correlation.";
  claim.effect_name =
      "mean |cosine| of different heads' outputs in residual space, mean over layers";
  claim.effect = cosine.mean;
  claim.ci_low = cosine.mean_interval.low;
  claim.ci_high = cosine.mean_interval.high;
  claim.verdict = claim.ci_high < low_correlation  ? Verdict::holds
                  : claim.ci_low > low_correlation ? Verdict::does_not_hold
                                                   : Verdict::undecided;
  claim.evidence = "The outputs of two heads of a layer have a mean absolute cosine of " +
                   number_text(claim.effect, 3) + "; low means an interval below " +
                   number_text(low_correlation, 3) + ".";
  return claim;
}

Claim mixing_claim(const Estimate& cosine, const ResultsGroup& group) {
  const Array& share = group.variable("output_share").values;
  const auto [least, most] = std::minmax_element(share.values.begin(), share.values.end());
  constexpr double mixed = 0.01;
  Claim claim;
  claim.number = 10;
  claim.statement =
      "W_O mixes heads: outputs that lie in separate coordinates before it overlap after it.";
  claim.effect_name =
      "mean |cosine| of different heads' outputs after W_O (before it, concatenated, it is 0)";
  claim.effect = cosine.mean;
  claim.ci_low = cosine.mean_interval.low;
  claim.ci_high = cosine.mean_interval.high;
  claim.verdict = claim.ci_low > mixed     ? Verdict::holds
                  : claim.ci_high <= mixed ? Verdict::does_not_hold
                                           : Verdict::undecided;
  claim.evidence =
      "Concatenated, the heads' outputs are orthogonal by construction; after W_O their mean "
      "absolute cosine is " +
      number_text(claim.effect, 3) + ", and one head accounts for between " + percent(*least) +
      " and " + percent(*most) + " of its layer's output.";
  return claim;
}

std::string summary_text(const ResultsGroup& group, const Estimate& cosine) {
  const Array& all = group.variable("cosine").values;
  const Index n_layer = all.shape[1], n_head = all.shape[2];
  double strongest = 0;
  HeadIndex first, second;
  for (Index layer = 0; layer < n_layer; ++layer) {
    for (Index i = 0; i < n_head; ++i) {
      for (Index j = 0; j < i; ++j) {
        const double value = all(1, layer, i, j);
        if (!(std::abs(value) > std::abs(strongest))) continue;
        strongest = value;
        first = {layer, j};
        second = {layer, i};
      }
    }
  }
  const std::string interval = std::isnan(cosine.mean_interval.low)
                                   ? ""
                                   : " (95 % interval " + number_text(cosine.mean_interval.low, 3) +
                                         " to " + number_text(cosine.mean_interval.high, 3) + ")";
  return "In residual space the outputs of two heads of a layer have a mean absolute cosine of " +
         number_text(cosine.mean, 3) + interval + ". The most alike pair of one layer is " +
         first.text() + " and " + second.text() + " with a cosine of " + number_text(strongest, 3) +
         ".";
}

}  // namespace

ResultsGroup correlation_results(const Statistics& statistics, const ModelConfig& config,
                                 const AnalysisSettings& settings) {
  if (!statistics.has("head_total"))
    throw Error("correlation: expected a document of at least 2 tokens, got none");
  ResultsGroup group;
  group.name = "correlation";
  group.title = "Head correlation";
  group.add_dimension(Dimension::labels("space", {"head", "residual"}));
  group.add_dimension(Dimension::count("layer", config.n_layer));
  group.add_dimension(Dimension::count("head", config.n_head));
  group.add_dimension(Dimension::count("head_i", config.n_head));
  group.add_dimension(Dimension::count("head_j", config.n_head));
  group.add_dimension(Dimension::labels("kind", {"subspace", "position", "output"}));
  for (const char* unit : {"unit", "unit_i", "unit_j"}) {
    group.add_dimension(Dimension::count(unit, config.n_layer * config.n_head));
  }
  group.add_dimension(Dimension::count("axis", 2));

  add_cosines(statistics, config, group);
  if (statistics.has("all_total")) add_cosine_all(statistics, group);
  add_cka(statistics, config, group);
  add_disagreement(statistics, config, group);
  add_output_share(statistics, config, group);
  const Estimate cosine =
      estimate(used_blocks(statistics).size(), settings, [&](const Weights& weights) {
        return mean_abs_cosines(statistics, config.n_layer, weights);
      });
  add_estimate("mean_abs_cosine", cosine, config.n_layer,
               "mean over pairs of different heads of |cosine|", own_definition, group);
  add_distances(statistics, settings.seed, group);
  group.claims.push_back(low_correlation_claim(cosine));
  group.claims.push_back(mixing_claim(cosine, group));
  group.summary = summary_text(group, cosine);
  group.report = correlation_report(cosine.mean);
  return group;
}

void add_control_comparison(const Statistics& statistics, const Statistics& control,
                            const ModelConfig& config, const AnalysisSettings& settings,
                            ResultsGroup& group) {
  const Estimate difference =
      estimate(used_blocks(statistics).size(), settings, [&](const Weights& weights) {
        std::vector<double> values = mean_abs_cosines(statistics, config.n_layer, weights);
        const std::vector<double> untrained = mean_abs_cosines(control, config.n_layer, weights);
        std::transform(values.begin(), values.end(), untrained.begin(), values.begin(),
                       std::minus<>());
        return values;
      });
  add_estimate(
      "mean_abs_cosine_difference", difference, config.n_layer,
      "mean_abs_cosine less that of an untrained model of the same shape on the same documents",
      own_definition, group);

  add_mean(difference, group);
  group.report.findings = {likeness_finding(
      residual_mean(group.variable("mean_abs_cosine").values.values),
      residual_mean(mean_abs_cosines(control, config.n_layer, {})), difference.mean_interval)};

  Claim claim;
  claim.number = 6;
  claim.statement = "Different heads' outputs are less alike than in an untrained model.";
  claim.effect_name =
      "difference in mean |cosine| in residual space, trained less untrained, mean over layers";
  claim.effect = difference.mean;
  claim.ci_low = difference.mean_interval.low;
  claim.ci_high = difference.mean_interval.high;
  claim.verdict = claim.ci_high < 0  ? Verdict::holds
                  : claim.ci_low > 0 ? Verdict::does_not_hold
                                     : Verdict::undecided;
  claim.evidence =
      "Trained less untrained, on the same documents, the mean absolute cosine differs by " +
      number_text(claim.effect, 3) + "; it holds when the interval lies below 0.";
  group.claims.push_back(std::move(claim));
}

}  // namespace headscope
