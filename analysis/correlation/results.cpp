#include "correlation/results.hpp"

#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "correlation/likeness.hpp"
#include "correlation/sums.hpp"
#include "headscope/error.hpp"
#include "headscope/random.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

const char* const spaces[] = {"head", "residual"};
const char* const by_documents = "documents (of a large corpus, 128 blocks of them) resampled";

}  // namespace

const VariableTable correlation_variables{
    {"cosine", "space layer head_i head_j", "cosine",
     "cosine between the outputs of two heads, stacked over all tokens but position 0; head space: "
     "z, in each head's basis; residual space: z W_O"},
    {"cosine_token", "space layer head_i head_j", "cosine",
     "mean over tokens but position 0 of the cosine of two heads' outputs; no value where cosine "
     "has none"},
    {"cosine_all", "unit_i unit_j", "cosine",
     "cosine in residual space between heads of all layers; unit = layer * n_head + head"},
    {"cka", "layer head_i head_j", "1",
     "linear centred kernel alignment of two heads' z over all tokens but position 0",
     "Kornblith et al. 2019"},
    {"disagreement_mean", "kind", "1", "mean of disagreement over layers", "Li et al. 2018"},
    {"disagreement", "kind layer", "1",
     "minus the mean likeness of two heads, over all ordered pairs (a head is also paired with "
     "itself; pruned heads are left out). Likeness is the cosine of values (subspace), the product "
     "of attention, summed over keys, mean over queries (position), or the cosine of z (output); "
     "values and z are stacked over tokens, without the query at position 0",
     "Li et al. 2018"},
    {"output_share", "layer head", "1",
     "projection of this head's output on the summed output of the layer's heads, as a share of "
     "the squared norm of that sum; the shares of a layer add up to 1; negative for a head that "
     "opposes the sum"},
    {"output_overlap", "", "1",
     "sum of |inner product| over pairs of different heads, divided by the same sum over all "
     "pairs, each head with itself included; outputs in residual space; mean over layers with two "
     "heads that write something. Before W_O this share is 0: heads have separate dimensions there",
     headscope_definition, by_documents},
    {"output_overlap_difference", "", "1",
     "output_overlap minus that of untrained models in the same layers, mean over these models; "
     "documents and untrained models are resampled",
     headscope_definition, by_documents},
    {"mean_abs_cosine", "space layer", "cosine", "mean over pairs of different heads of |cosine|",
     headscope_definition, by_documents},
    {"mean_abs_cosine_mean", "", "cosine", "mean over layers of mean_abs_cosine in residual space",
     headscope_definition, by_documents},
    {"js_distance", "unit_i unit_j", "sqrt(nats)",
     "square root of the Jensen-Shannon divergence (natural logarithm) between the attention of "
     "two heads; mean over {n_query} random queries, spread evenly over the corpus and weighted to "
     "represent all queries; no value for removed heads",
     "Clark et al. 2019, section 6"},
    {"mds", "unit axis", "sqrt(nats)",
     "two-dimensional metric multidimensional scaling of js_distance, removed heads left out; of "
     "several starts the solution with the least stress is kept",
     "Clark et al. 2019, figure 6"},
    {"mean_abs_cosine_control", "control space layer", "cosine",
     "mean_abs_cosine of untrained models of the same shape, on documents spread evenly over the "
     "corpus"},
    {"mean_abs_cosine_difference", "space layer", "cosine",
     "mean_abs_cosine minus the mean of mean_abs_cosine_control; documents and untrained models "
     "are resampled (the same documents for both if both read all of them)",
     headscope_definition, by_documents},
    {"mean_abs_cosine_difference_mean", "", "cosine",
     "mean over layers of mean_abs_cosine_difference in residual space", headscope_definition,
     by_documents},
};

namespace {

void add_cosines(const Statistics& statistics, const BlockProducts& blocks,
                 const ModelConfig& config, ResultsGroup& group) {
  Array cosine({2, config.n_layer, config.n_head, config.n_head}), cosine_token = cosine;
  const double n_token = statistics.total("n_token")(0);
  for (std::size_t space = 0; space < 2; ++space) {
    const Array total = total_products(blocks[space]);
    const Array token = statistics.total(std::string(spaces[space]) + "_cosine");
    for (Index layer = 0; layer < config.n_layer; ++layer) {
      const arma::mat of_layer = cosines(total.matrix(layer));
      arma::mat mean = token.matrix(layer) / n_token;
      mean.elem(arma::find_nan(of_layer)).fill(arma::datum::nan);
      cosine.set(of_layer, space, layer);
      cosine_token.set(mean, space, layer);
    }
  }
  group.add(correlation_variables["cosine"], cosine);
  group.add(correlation_variables["cosine_token"], cosine_token);
}

void add_cosine_all(const Statistics& statistics, ResultsGroup& group) {
  Array all = statistics.total("all_total");
  all.set(cosines(all.matrix()));
  group.add(correlation_variables["cosine_all"], std::move(all));
}

void add_cka(const Statistics& statistics, const ModelConfig& config, ResultsGroup& group) {
  Array cka({config.n_layer, config.n_head, config.n_head});
  const Array sums = statistics.total("z_sum");
  const double n_token = statistics.total("n_token")(0);
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const arma::mat product =
        from_lower_triangle(statistics.total(z_product_name(layer)).values, config.d_z());
    cka.set(linear_cka(arma::vec(sums.part(layer).values), product, n_token, config.n_head), layer);
  }
  group.add(correlation_variables["cka"], std::move(cka));
}

void add_disagreement(const Statistics& statistics, const BlockProducts& blocks,
                      ResultsGroup& group) {
  const Array output = total_products(blocks[0]);
  const Array value = statistics.total("value_total"), overlap = statistics.total("overlap");
  const double n_query = statistics.total("n_token")(0);
  const Index n_layer = output.shape[0];
  Array disagreement({3, n_layer});
  for (Index layer = 0; layer < n_layer; ++layer) {
    const arma::mat outputs = cosines(output.matrix(layer));
    const arma::uvec present = arma::find_finite(outputs);  // not the pairs with a pruned head
    const auto mean = [&](const arma::mat& values) {
      return present.empty() ? arma::datum::nan : arma::mean(arma::vec(values.elem(present)));
    };
    disagreement(0, layer) = -mean(cosines(value.matrix(layer)));
    disagreement(1, layer) = -mean(overlap.matrix(layer)) / n_query;
    disagreement(2, layer) = -mean(outputs);
  }
  Array mean({3});
  for (std::size_t kind = 0; kind < 3; ++kind) {
    const arma::vec by_layer(disagreement.part(kind).values);
    const arma::vec present = by_layer.elem(arma::find_finite(by_layer));
    mean(kind) = present.empty() ? arma::datum::nan : arma::mean(present);
  }
  group.add(correlation_variables["disagreement_mean"], mean);
  group.add(correlation_variables["disagreement"], disagreement);
}

void add_output_share(const BlockProducts& blocks, const ModelConfig& config, ResultsGroup& group) {
  const Array total = total_products(blocks[1]);
  Array share({config.n_layer, config.n_head});
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const arma::mat products = total.matrix(layer);
    const arma::vec along = arma::sum(products, 1);
    for (Index head = 0; head < config.n_head; ++head)
      share(layer, head) = along(head) / arma::accu(along);
  }
  group.add(correlation_variables["output_share"], share);
}

void add_distances(const Statistics& statistics, const ModelConfig& config, std::uint64_t seed,
                   ResultsGroup& group) {
  if (!statistics.has("js_distance")) return;
  const double weight = statistics.total("js_weight")(0), count = statistics.total("js_count")(0);
  const arma::mat all = statistics.total("js_distance").matrix() / weight;
  const arma::uvec left = arma::conv_to<arma::uvec>::from(config.heads_left());
  const arma::mat between_left = all.submat(left, left);
  arma::mat distances(all.n_rows, all.n_cols, arma::fill::value(arma::datum::nan)),
      points(all.n_rows, 2, arma::fill::value(arma::datum::nan));
  if (!left.empty()) {
    distances.submat(left, left) = between_left;
    points.rows(left) = metric_mds(between_left, CounterRandom(seed, 3));
  }
  Array distance({all.n_rows, all.n_cols}), plane({all.n_rows, 2});
  distance.set(distances);
  plane.set(points);
  group.add(correlation_variables["js_distance"].with("n_query", number_text(count, 0)), distance);
  group.add(correlation_variables["mds"], plane);
}

constexpr double low_correlation = 0.3;

/// Why no two heads of a layer are compared.
std::string no_pair_text(const ModelConfig& config) {
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    if (config.heads_left_in(layer).size() > 1)
      return "No two heads of a layer have an output that is not zero.";
  }
  return "The layers have no two heads to compare.";
}

Claim low_correlation_claim(const Estimate& mean_cosine, const ModelConfig& config) {
  Claim claim;
  claim.number = 6;
  claim.source = "Li et al. 2018";
  claim.statement = "Different heads' outputs have low correlation.";
  claim.effect_name =
      "mean |cosine| of different heads' outputs in residual space, mean over layers";
  claim.effect = with_width(mean_cosine);
  claim.verdict = verdict_of(claim.effect, Side::below, low_correlation);
  claim.evidence =
      std::isnan(mean_cosine.value)
          ? no_pair_text(config)
          : "The outputs of two heads of the same layer have a mean absolute cosine of " +
                number_text_beside(mean_cosine.value, low_correlation, 3) +
                ". Low means an interval below " + number_text(low_correlation, 3) + ".";
  return claim;
}

constexpr const char* mixing_statement =
    "W_O mixes heads: after W_O, outputs of different heads overlap more than in an untrained "
    "model.";

/// Undecided until untrained models are compared (settle_mixing).
Claim mixing_claim(const Estimate& overlap, const ModelConfig& config, const ResultsGroup& group) {
  Claim claim;
  claim.number = 10;
  claim.source = "Elhage et al. 2021";
  claim.statement = mixing_statement;
  claim.effect_name =
      "share of the absolute inner products of heads' outputs after W_O that is between different "
      "heads";
  claim.effect = overlap;
  if (std::isnan(overlap.value)) {
    claim.evidence = no_pair_text(config);
    return claim;
  }
  std::vector<double> shares;
  for (const Index head_index : config.heads_left()) {
    shares.push_back(group.values("output_share").values[head_index]);
  }
  shares = finite_values(shares);
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  claim.evidence =
      "Before W_O the concatenated outputs of heads are orthogonal. After W_O, " +
      percent(overlap.value) + " of the absolute inner products are between different heads." +
      (shares.empty() ? ""
                      : " A head accounts for " +
                            (percent(*least) == percent(*most)
                                 ? percent(*most)
                                 : "between " + percent(*least) + " and " + percent(*most)) +
                            " of the output of its layer.") +
      " Only untrained models (--control random) can decide the claim.";
  return claim;
}

/// Beyond 0, and further from it than an untrained model may be.
Verdict verdict_beside(const Estimate& difference, double untrained, std::size_t n_control,
                       Side side) {
  const bool is_beyond = std::abs(difference.value) > untrained;
  return n_control < n_control_per_kind || !is_beyond ? Verdict::undecided
                                                      : verdict_of(difference, side, 0);
}

/// @param side  `above` or `below`.
std::string beside_text(double untrained, const std::string& side) {
  if (std::isnan(untrained)) return ". One untrained model settles nothing.";
  return ". A further untrained model would lie up to " + number_text(untrained, 3) +
         " from this mean in 95 % of cases. The claim holds when the interval lies " + side +
         " 0 and the difference is larger.";
}

/// Puts the claim to the test against untrained models.
/// @param untrained  as LikenessDifference::untrained_overlap.
void settle_mixing(const Estimate& difference, double untrained, std::size_t n_control,
                   ResultsGroup& group) {
  Claim& claim = *std::ranges::find(group.claims, mixing_statement, &Claim::statement);
  claim.effect_name += ", trained minus untrained";
  claim.effect = with_width(difference);
  if (std::isnan(difference.value)) return;
  claim.verdict = verdict_beside(claim.effect, untrained, n_control, Side::above);
  claim.evidence += " The trained model's share minus the mean share of " +
                    count_text(n_control, "untrained model") + " is " +
                    number_text(difference.value, 3) + beside_text(untrained, "above");
}

std::string summary_text(const ResultsGroup& group, const Estimate& mean_cosine,
                         const ModelConfig& config) {
  if (std::isnan(mean_cosine.value)) return no_pair_text(config);
  const Array& all = group.values("cosine");
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
  const std::string interval = !mean_cosine.has_interval()
                                   ? ""
                                   : " (95 % interval " + number_text(mean_cosine.low, 3) + " to " +
                                         number_text(mean_cosine.high, 3) + ")";
  const std::string pair =
      strongest == 0 ? ""
                     : " The pair of a layer with the largest absolute cosine is " + first.text() +
                           " and " + second.text() + ": " + number_text(strongest, 3) + ".";
  return "In residual space, the outputs of two heads of the same layer have a mean absolute "
         "cosine of " +
         number_text(mean_cosine.value, 3) + interval + "." + pair;
}

}  // namespace

ResultsGroup correlation_results(const Statistics& statistics, const ModelConfig& config,
                                 const AnalysisSettings& settings) {
  if (!statistics.has("head_total"))
    throw Error("correlation: expected a document of at least 2 tokens, got none");
  ResultsGroup group;
  group.name = "correlation";
  group.add_dimension(Dimension::labels("space", {"head", "residual"}));
  group.add_dimension(Dimension::count("layer", config.n_layer));
  group.add_dimension(Dimension::count("head", config.n_head));
  group.add_dimension(Dimension::count("head_i", config.n_head));
  group.add_dimension(Dimension::count("head_j", config.n_head));
  group.add_dimension(Dimension::labels("kind", {"subspace", "position", "output"}));
  for (const char* name : {"unit", "unit_i", "unit_j"}) {
    group.add_dimension(Dimension::count(name, config.n_layer * config.n_head));
  }
  group.add_dimension(Dimension::count("axis", 2));

  const BlockProducts blocks = block_products(statistics);
  add_cosines(statistics, blocks, config, group);
  if (statistics.has("all_total")) add_cosine_all(statistics, group);
  add_cka(statistics, config, group);
  add_disagreement(statistics, blocks, group);
  add_output_share(blocks, config, group);
  const Likeness likeness = likeness_of(statistics, settings);
  group.add(correlation_variables["mean_abs_cosine"], likeness.mean_abs_cosine);
  group.add(correlation_variables["mean_abs_cosine_mean"],
            std::vector<Estimate>{likeness.mean_abs_cosine_mean});
  group.add(correlation_variables["output_overlap"],
            std::vector<Estimate>{likeness.output_overlap});
  add_distances(statistics, config, settings.seed, group);
  group.claims.push_back(low_correlation_claim(likeness.mean_abs_cosine_mean, config));
  group.claims.push_back(mixing_claim(likeness.output_overlap, config, group));
  group.summary = summary_text(group, likeness.mean_abs_cosine_mean, config);
  return group;
}

ControlValues correlation_control_values(const Statistics& statistics) {
  ControlValues values;
  for (const char* const name : {"head_total", "residual_total", "n_document"}) {
    values[name] = statistics.total(name);
  }
  return values;
}

void add_control_comparison(const Statistics& statistics,
                            const std::vector<ControlValues>& controls, const ModelConfig& config,
                            const AnalysisSettings& settings, ResultsGroup& group) {
  const LikenessDifference difference = likeness_difference(statistics, controls, settings);
  group.add(correlation_variables["output_overlap_difference"],
            std::vector<Estimate>{difference.output_overlap});
  settle_mixing(difference.output_overlap, difference.untrained_overlap, controls.size(), group);
  group.add_dimension(Dimension::count("control", controls.size()));
  group.add(correlation_variables["mean_abs_cosine_control"], control_cosines(controls));
  group.add(correlation_variables["mean_abs_cosine_difference"], difference.mean_abs_cosine);
  group.add(correlation_variables["mean_abs_cosine_difference_mean"],
            std::vector<Estimate>{difference.mean_abs_cosine_mean});

  Claim claim;
  claim.number = 6;
  claim.source = "Li et al. 2018; Cordonnier et al. 2020";
  claim.statement = "Different heads' outputs are less alike than in an untrained model.";
  claim.effect_name = "mean |cosine| in residual space, trained minus untrained, mean over layers";
  claim.effect = with_width(difference.mean_abs_cosine_mean);
  claim.verdict =
      verdict_beside(claim.effect, difference.untrained_cosine, controls.size(), Side::below);
  claim.evidence = std::isnan(claim.effect.value)
                       ? no_pair_text(config)
                       : "The mean absolute cosine of the trained model minus the mean of " +
                             count_text(controls.size(), "untrained model") + " is " +
                             number_text(claim.effect.value, 3) +
                             beside_text(difference.untrained_cosine, "below");
  group.claims.push_back(std::move(claim));
}

}  // namespace headscope
