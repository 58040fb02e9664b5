#include "pruning/results.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "headscope/error.hpp"
#include "headscope/number_text.hpp"
#include "headscope/random.hpp"
#include "headscope/resampling.hpp"
#include "pruning/direct_effects.hpp"
#include "pruning/orders.hpp"
#include "random_draws.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

const char* const michel_2019 = "Michel et al. 2019, Are Sixteen Heads Really Better than One?";

const char* const cochran_1977 = "Cochran 1977, Sampling Techniques, chapter 12";

const char* const document_resampling =
    "documents (of a large corpus, 128 blocks of them) resampled";

/// Blocks of documents whose gradients were taken and whose heads were not ablated.
struct OtherBlocks {
  double n_document = 0;           ///< of all blocks
  std::vector<std::size_t> block;  ///< number, of the parity of its documents
  std::vector<double> baseline;    ///< nats, summed over the block's predicted tokens
  std::vector<double> n_predicted;
  std::vector<Array> first_order;  ///< n_ablation_row x layer x head, nats summed

  std::size_t size() const { return block.size(); }
};

/// The statistics, one row per ablated document in order.
struct DocumentRows {
  std::vector<std::uint64_t> document;  ///< its number in the corpus
  std::vector<double> baseline;         ///< nats, summed over the document's predicted tokens
  std::vector<double> n_predicted;
  std::vector<const Array*> ablated;      ///< n_ablation_row x layer x head, nats summed
  std::vector<const Array*> importance;   ///< n_importance_row x layer x head, of the summed loss
  std::vector<const Array*> direct_head;  ///< layer x head, logits summed
  std::vector<const Array*> direct_part;  ///< layer + n_direct_part, logits summed
  std::vector<const Array*>
      curve;  ///< 2 x order x step: nats summed, correct tokens; empty before pass 2
  std::vector<Array> first_order;  ///< n_ablation_row x layer x head, nats summed
  OtherBlocks others;

  std::size_t size() const { return baseline.size(); }
};

/// The increase that the gradient predicts of each ablation.
/// @param increase  of zero, mean and resample: at least n_first_order x layer x head values, which
///                  are multiplied by `sign`.
/// @return n_ablation_row x layer x head; all heads but one lose what each of them loses.
Array predicted_increases(const double* increase, double sign, std::size_t n_layer,
                          std::size_t n_head) {
  const std::size_t n_unit = n_layer * n_head;
  Array predicted({n_ablation_row, n_layer, n_head});
  for (std::size_t layer = 0; layer < n_layer; ++layer) {
    const double* const zero = increase + layer * n_head;
    const double whole = sign * std::accumulate(zero, zero + n_head, 0.0);
    for (std::size_t head = 0; head < n_head; ++head) {
      const std::size_t unit = layer * n_head + head;
      predicted(0, layer, head) = sign * increase[unit];
      predicted(1, layer, head) = sign * increase[n_unit + unit];
      predicted(2, layer, head) = whole - sign * increase[unit];
      predicted(resample_row, layer, head) = sign * increase[2 * n_unit + unit];
    }
  }
  return predicted;
}

OtherBlocks other_blocks(const Statistics& statistics) {
  OtherBlocks others;
  if (!statistics.has("other_n_document")) return others;
  const Array n_document = statistics.total("other_n_document"),
              baseline = statistics.total("other_baseline"),
              first_order = statistics.total("other_first_order");
  for (std::size_t block = 0; block < n_document_block; ++block) {
    if (n_document(block) == 0) continue;
    others.n_document += n_document(block);
    others.block.push_back(block);
    others.baseline.push_back(baseline(block, 0));
    others.n_predicted.push_back(baseline(block, 1));
    const std::size_t n_value = first_order.size() / n_document_block;
    others.first_order.push_back(predicted_increases(first_order.values.data() + block * n_value, 1,
                                                     first_order.shape[2], first_order.shape[3]));
  }
  return others;
}

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
    const Array& importance = *rows.importance.back();
    const double* const of_zero = importance.values.data() + importance.part(0).size();
    rows.first_order.push_back(
        predicted_increases(of_zero, -1, importance.shape[1], importance.shape[2]));
  }
  rows.others = other_blocks(statistics);
  return rows;
}

/// How often ablated documents and blocks of the others count.
struct PhaseWeights {
  Weights ablated, others;
  /// Documents and blocks for each one drawn: makes up for drawing fewer than there are.
  double ablated_scale = 1, others_scale = 1;
};

/// The weights with those of the other half of the documents set to 0: even ones make the orders of
/// pruning, odd ones score them. All, if there is no ablated document of that parity.
Weights of_half(const DocumentRows& rows, Weights weights, bool odd) {
  const auto is_other = [odd](std::uint64_t document) { return (document % 2 == 1) != odd; };
  if (std::ranges::all_of(rows.document, is_other)) return weights;
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (is_other(rows.document[d])) weights[d] = 0;
  }
  return weights;
}

/// Documents of even number, once each; all, if no ablated one is even.
PhaseWeights even_documents(const DocumentRows& rows) {
  const bool has_even = std::ranges::any_of(rows.document, [](auto d) { return d % 2 == 0; });
  PhaseWeights weights{of_half(rows, Weights(rows.size(), 1), false), {}};
  for (const std::size_t block : rows.others.block) {
    weights.others.push_back(has_even && block % 2 == 1 ? 0 : 1);
  }
  return weights;
}

/// Weighted sum over documents.
double weighted(const std::vector<double>& values, const Weights& weights) {
  return std::inner_product(values.begin(), values.end(), weights.begin(), 0.0);
}

/// Element-wise weighted sum of equal-shaped rows.
Array weighted(const std::vector<const Array*>& rows, const Weights& weights) {
  Array sum(rows.front()->shape);
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (weights[d] == 0) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum.values[i] += weights[d] * rows[d]->values[i];
    }
  }
  return sum;
}

/// A sum over ablated documents and one over blocks of the others, together.
double of_phases(double ablated, double others, const PhaseWeights& weights) {
  return weights.ablated_scale * ablated + weights.others_scale * others;
}

/// Predicted tokens of all documents whose gradients were taken.
double n_predicted_of_phases(const DocumentRows& rows, const PhaseWeights& weights) {
  return of_phases(weighted(rows.n_predicted, weights.ablated),
                   weighted(rows.others.n_predicted, weights.others), weights);
}

/// Mean loss of the whole model, nats per predicted token.
double baseline_loss(const DocumentRows& rows, const PhaseWeights& weights) {
  return of_phases(weighted(rows.baseline, weights.ablated),
                   weighted(rows.others.baseline, weights.others), weights) /
         n_predicted_of_phases(rows, weights);
}

/// Mean loss of ablated documents with each ablation minus their baseline, nats per predicted
/// token: n_ablation_row x layer x head.
Array exact_increases(const DocumentRows& rows, const Weights& weights) {
  const double n_predicted = weighted(rows.n_predicted, weights),
               baseline = weighted(rows.baseline, weights);
  Array increases = weighted(rows.ablated, weights);
  for (double& value : increases.values) value = (value - baseline) / n_predicted;
  return increases;
}

/// First-order and exact increases of one head over documents, weighted by their predicted tokens.
struct Regression {
  double n_predicted = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;

  /// @param x, y  first-order and exact increase, nats summed over the document's tokens.
  void add(double weight, double tokens, double x_summed, double y_summed) {
    n_predicted += weight * tokens;
    x += weight * x_summed;
    y += weight * y_summed;
    xx += weight * x_summed * x_summed / tokens;
    xy += weight * x_summed * y_summed / tokens;
    yy += weight * y_summed * y_summed / tokens;
  }
  double mean_x() const { return x / n_predicted; }
  double variation_x() const { return above_rounding(xx - x * mean_x(), xx); }
  double variation_y() const { return above_rounding(yy - y * y / n_predicted, yy); }
  double covariation() const { return xy - y * mean_x(); }
  /// 0 if the documents do not differ in x.
  double slope() const { return variation_x() > 0 ? covariation() / variation_x() : 0; }
  /// NaN if the documents do not differ in x or in y.
  double r2() const { return covariation() * covariation() / (variation_x() * variation_y()); }

 private:
  static double above_rounding(double difference, double of) {
    return difference > 1e-12 * of ? difference : 0;
  }
};

/// Of one ablation of one head.
/// @param place  in n_ablation_row x layer x head.
Regression regression_of(const DocumentRows& rows, const Weights& weights, std::size_t place) {
  Regression regression;
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (weights[d] == 0) continue;
    regression.add(weights[d], rows.n_predicted[d], rows.first_order[d].values[place],
                   rows.ablated[d]->values[place] - rows.baseline[d]);
  }
  return regression;
}

/// Mean loss with each ablation minus the baseline, nats per predicted token: n_ablation_row x
/// layer x head. Where heads were ablated on a part of the documents,
///
///   mean of y there + slope of y on x there * (mean of x everywhere - mean of x there),
///
/// y being a document's increase and x the one that the gradient predicts. Source: Cochran 1977,
/// Sampling Techniques, section 12.6.
Array loss_increases(const DocumentRows& rows, const PhaseWeights& weights) {
  Array increases = exact_increases(rows, weights.ablated);
  if (rows.others.size() == 0) return increases;
  const double n_predicted = n_predicted_of_phases(rows, weights);
  for (std::size_t i = 0; i < increases.size(); ++i) {
    const Regression regression = regression_of(rows, weights.ablated, i);
    double others = 0;
    for (std::size_t block = 0; block < rows.others.size(); ++block) {
      others += weights.others[block] * rows.others.first_order[block].values[i];
    }
    const double mean_x = of_phases(regression.x, others, weights) / n_predicted;
    increases.values[i] += regression.slope() * (mean_x - regression.mean_x());
  }
  return increases;
}

Weights every_document_once(const DocumentRows& rows) {
  return Weights(rows.size(), 1);
}

PhaseWeights both_phases_once(const DocumentRows& rows) {
  return {every_document_once(rows), Weights(rows.others.size(), 1)};
}

Bootstrap bootstrap_of(const DocumentRows& rows, const AnalysisSettings& settings) {
  return Bootstrap::of_documents(std::vector<double>(rows.size(), 1), settings.n_bootstrap,
                                 settings.seed);
}

/// Each value of the statistic with its interval. Where not all documents were ablated, resamples
/// draw ablated documents and blocks of the others apart.
std::vector<Estimate> estimates_of_phases(
    const DocumentRows& rows, const AnalysisSettings& settings,
    const std::function<std::vector<double>(const PhaseWeights&)>& statistic) {
  if (rows.others.size() == 0) {
    return bootstrap_of(rows, settings).estimates([&](const Weights& weights) {
      return statistic({weights, {}});
    });
  }
  constexpr std::uint64_t others_stream = std::uint64_t{1} << 60;
  const Bootstrap ablated = bootstrap_of(rows, settings),
                  others(rows.others.size(), settings.n_bootstrap,
                         CounterRandom(settings.seed, others_stream).value(0));
  const auto scale = [](const Weights& weights) {
    const double n_drawn = std::accumulate(weights.begin(), weights.end(), 0.0);
    return n_drawn > 0 ? static_cast<double>(weights.size()) / n_drawn : 1;
  };
  const std::vector<double> values = statistic(both_phases_once(rows));
  std::vector<std::vector<double>> samples(values.size());
  for (std::size_t i = 0; i < ablated.n_resample(); ++i) {
    PhaseWeights weights{ablated.draw(i),
                         others.n_resample() > 0 ? others.draw(i) : others.whole()};
    weights.ablated_scale = scale(weights.ablated);
    weights.others_scale = scale(weights.others);
    const std::vector<double> resampled = statistic(weights);
    for (std::size_t j = 0; j < values.size(); ++j) samples[j].push_back(resampled[j]);
  }
  std::vector<Estimate> estimates;
  for (std::size_t j = 0; j < values.size(); ++j) {
    estimates.push_back(bootstrap_estimate(values[j], std::move(samples[j])));
  }
  return estimates;
}

/// What intervals of loss increases resample. Differs between runs that ablate different documents,
/// which are not paired.
std::string phases_resampled(const DocumentRows& rows) {
  if (rows.others.size() == 0) return "documents resampled";
  return "documents resampled, " + std::to_string(rows.size()) + " ablated and " +
         number_text(rows.others.n_document, 0) + " others apart";
}

/// Importance, weighted mean over documents: n_importance x layer x head.
Array mean_importance(const DocumentRows& rows, const Weights& weights) {
  const Shape& shape = rows.importance.front()->shape;
  Array mean({n_importance, shape[1], shape[2]});
  const std::size_t n_unit = shape[1] * shape[2];
  const auto n_document = static_cast<double>(std::reduce(weights.begin(), weights.end()));
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (weights[d] == 0) continue;
    const double scale = weights[d] / (rows.n_predicted[d] * n_document);
    for (std::size_t unit = 0; unit < n_unit; ++unit) {
      const double magnitude = scale * rows.importance[d]->values[unit],
                   total = scale * rows.importance[d]->values[n_unit + unit];
      mean.values[unit] += magnitude;
      mean.values[n_unit + unit] += std::abs(total);
      mean.values[2 * n_unit + unit] -= total;
    }
  }
  return mean;
}

/// Row in the statistics of each ablation in the results: zero, mean, resample.
constexpr std::size_t ablation_rows[] = {0, 1, resample_row};
constexpr std::size_t all_but_one_row = 2;

/// Adds how many heads have an interval for their loss increase, and how many of those intervals do
/// not lie above 0.
void add_harmless(ResultsGroup& group) {
  const Variable& increase = group.variable("loss_increase");
  const std::size_t n_ablation = increase.values.shape[0];
  const std::size_t n_unit = increase.values.size() / n_ablation;
  Array n_interval({n_ablation}), n_harmless = n_interval;
  for (std::size_t i = 0; i < increase.values.size(); ++i) {
    const Estimate of_head = increase.estimate(i);
    if (!of_head.has_interval()) continue;
    n_interval(i / n_unit) += 1;
    if (of_head.low <= 0) n_harmless(i / n_unit) += 1;
  }
  group.add(Variable::integer("n_interval", {"ablation"}, n_interval,
                              "heads whose loss_increase has an interval", "count",
                              own_definition));
  group.add(Variable::integer("n_harmless", {"ablation"}, n_harmless,
                              "heads whose interval of loss_increase does not lie above 0: "
                              "without them the loss is not distinguishably higher",
                              "count", own_definition));
}

/// Adds how well a head's first-order effect follows its exact one from document to document.
void add_first_order_r2(const DocumentRows& rows, const ModelConfig& config, ResultsGroup& group) {
  Array r2({config.n_layer, config.n_head});
  for (std::size_t unit = 0; unit < r2.size(); ++unit) {
    r2.values[unit] =
        rows.size() > 2 ? regression_of(rows, every_document_once(rows), unit).r2() : std::nan("");
  }
  group.add(Variable::real(
      "first_order_r2", {"layer", "head"}, r2,
      "squared correlation over the ablated documents, weighted by their predicted tokens, of the "
      "loss increase of zero ablation and the increase that the gradient predicts; no value for "
      "fewer than three documents",
      "1", cochran_1977));
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
  group.add(Variable::estimated(
      "loss_increase", {"ablation", "layer", "head"}, {3, config.n_layer, config.n_head}, estimates,
      phases_resampled(rows) + ", in pairs with the baseline",
      "mean loss with one head ablated minus the baseline; zero: z set to 0; mean: z "
      "set to its mean over "
      "the tokens of these documents, position 0 left out; resample: z of another "
      "document at the same "
      "position of a piece, own z where no piece of another document is as long" +
          (rows.others.size() == 0
               ? std::string()
               : "; exact on n_document_ablated documents and predicted by the gradient on "
                 "n_document_first_order, combined by regression"),
      "nats per token",
      rows.others.size() == 0 ? michel_2019 : std::string(michel_2019) + "; " + cochran_1977));
  add_harmless(group);
  add_first_order_r2(rows, config, group);

  const PhaseWeights once = both_phases_once(rows);
  Array all_but_one = loss_increases(rows, once).part(all_but_one_row);
  const double baseline = baseline_loss(rows, once);
  for (double& loss : all_but_one.values) loss += baseline;
  group.add(Variable::real("loss_all_but_one", {"layer", "head"}, all_but_one,
                           "mean loss with every other head of the layer set to zero",
                           "nats per token", std::string(michel_2019) + ", table 2"));
}

/// Adds the error of the loss increases of a sample of heads, zero ablation, against float32.
void add_precision_error(const Statistics& statistics, const DocumentRows& rows,
                         ResultsGroup& group) {
  if (!statistics.has("float32")) return;
  std::vector<const Array*> samples;
  for (const auto& [document, row] : statistics.rows("float32")) samples.push_back(&row);
  const Weights once = every_document_once(rows);
  const Array exact = weighted(samples, once), zero = exact_increases(rows, once).part(0);
  const double n_predicted = weighted(rows.n_predicted, once),
               baseline = weighted(rows.baseline, once);
  std::vector<double> sizes, relative;
  for (const double increase : zero.values) sizes.push_back(std::abs(increase));
  double worst = 0;
  const std::vector<Index> units = precision_sample(zero.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    const double increase = (exact(i) - baseline) / n_predicted;
    const double error = std::abs(zero.values[units[i]] - increase);
    relative.push_back(error / std::abs(increase));
    worst = std::max(worst, error);
  }
  group.add_dimension(Dimension::labels("statistic", {"median_relative", "worst_of_typical"}));
  group.add(Variable::real(
      "precision_error", {"statistic"},
      Array({2}, {arma::median(arma::vec(relative)), worst / arma::median(arma::vec(sizes))}),
      "error of loss_increase (zero) by the products in use against float32 products, for " +
          std::to_string(units.size()) +
          " heads spread evenly; median_relative: median over them of |error| / |increase|; "
          "worst_of_typical: largest |error| / median over all heads of |increase|",
      "1", own_definition));
}

void add_importance(const DocumentRows& rows, ResultsGroup& group) {
  const Array importance = mean_importance(rows, every_document_once(rows));
  Array normalized(importance.shape);
  for (std::size_t variant = 0; variant < n_importance; ++variant) {
    const Array one = normalized_by_layer(importance.part(variant));
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
      "nats per token", michel_2019));
  group.add(Variable::real("importance_normalized", dimensions, normalized,
                           "importance, each layer's vector divided by its L2 norm", "1",
                           "Molchanov et al. 2017; Michel et al. 2019"));
  const Array zero = group.variable("loss_increase").values.part(0), sign = importance.part(2);
  group.add(Variable::real(
      "first_order_correlation", {}, Array(Shape{}, spearman(sign.values, zero.values)),
      "Spearman's rank correlation over heads between signed importance and the loss "
      "increase of zero "
      "ablation",
      "1", michel_2019));
  Array correlation({n_importance});
  for (std::size_t variant = 0; variant < n_importance; ++variant) {
    correlation(variant) = spearman(importance.part(variant).values, zero.values);
  }
  group.add(Variable::real("importance_correlation", {"variant"}, correlation,
                           "Spearman's rank correlation over heads between importance and the loss "
                           "increase of zero ablation",
                           "1", michel_2019));
}

/// Adds the loss over all documents.
void add_loss(const Statistics& statistics, const AnalysisSettings& settings, ResultsGroup& group) {
  const Array n_document = statistics.total("n_document"), sums = statistics.total("loss");
  const Bootstrap bootstrap =
      Bootstrap::of_documents(n_document.values, settings.n_bootstrap, settings.seed);
  const std::vector<Estimate> loss = bootstrap.estimates([&](const Weights& weights) {
    double nats = 0, n_predicted = 0;
    for (std::size_t block = 0; block < weights.size(); ++block) {
      nats += weights[block] * sums(block, 0);
      n_predicted += weights[block] * sums(block, 1);
    }
    return std::vector<double>{nats / n_predicted};
  });
  group.add(Variable::estimated(
      "loss", {}, {}, loss, document_resampling,
      "mean negative log likelihood of a predicted token, all documents that were read",
      "nats per token", michel_2019));
  group.add(Variable::integer(
      "n_document", {},
      Array(Shape{}, std::accumulate(n_document.values.begin(), n_document.values.end(), 0.0)),
      "documents that were read", "count", own_definition));
}

void add_direct_effects(const DocumentRows& rows, const ModelConfig& config,
                        const AnalysisSettings& settings, ResultsGroup& group) {
  const auto mean = [&](const std::vector<const Array*>& logits, const Weights& weights) {
    Array effects = weighted(logits, weights);
    const double n_predicted = weighted(rows.n_predicted, weights);
    for (double& effect : effects.values) effect /= n_predicted;
    return effects;
  };
  const std::string elhage = "Elhage et al. 2021";
  const std::string definition =
      "direct effect on the next token's logit minus the mean logit of the vocabulary, mean over "
      "predicted tokens of the documents whose heads were ablated: what is written to the residual "
      "stream, taken through the final LayerNorm with its scale held fixed and through W_U; ";
  const std::vector<Estimate> heads =
      bootstrap_of(rows, settings).estimates([&](const Weights& weights) {
        return mean(rows.direct_head, weights).values;
      });
  group.add(Variable::estimated("direct_effect", {"layer", "head"}, {config.n_layer, config.n_head},
                                heads, "documents resampled", definition + "of the head's output",
                                "logits", elhage));
  const Array parts = mean(rows.direct_part, every_document_once(rows));
  const auto mlps = parts.values.begin() + static_cast<std::ptrdiff_t>(config.n_layer);
  group.add(Variable::real("direct_effect_mlp", {"layer"},
                           Array({config.n_layer}, {parts.values.begin(), mlps}),
                           definition + "of the MLP's output", "logits", elhage));
  const auto add_part = [&](const std::string& name, DirectPart part, const std::string& what) {
    const double value = parts(config.n_layer + static_cast<std::size_t>(part));
    group.add(Variable::real(name, {}, Array(Shape{}, value), definition + what, "logits", elhage));
  };
  add_part("direct_effect_embedding", DirectPart::embedding,
           "of the token and position embeddings");
  add_part("direct_effect_bias", DirectPart::bias,
           "of all b_O, with the constants of the final LayerNorm and the unembedding");
  add_part("direct_effect_total", DirectPart::total,
           "of the whole residual stream; the parts of heads, MLPs, embeddings and biases add up "
           "to it");
}

/// Loss (part 0) and accuracy (part 1) per predicted token of the documents of odd number, which
/// score, or of those of even number: part x order x step.
Array curve_means(const DocumentRows& rows, const Weights& all_weights, bool odd = true) {
  const Weights weights = of_half(rows, all_weights, odd);
  Array means = weighted(rows.curve, weights);
  const double n_predicted = weighted(rows.n_predicted, weights);
  for (double& value : means.values) value /= n_predicted;
  return means;
}

void add_curves(const DocumentRows& rows, ResultsGroup& group) {
  const Array means = curve_means(rows, every_document_once(rows));
  Array loss({3, n_curve_step}), accuracy = loss, deviation({n_curve_step});
  for (std::size_t step = 0; step < n_curve_step; ++step) {
    for (std::size_t order = 0; order < 2; ++order) {
      loss(order, step) = means(0, order, step);
      accuracy(order, step) = means(1, order, step);
    }
    double squares = 0;
    for (std::size_t order = 2; order < n_curve_order; ++order) {
      loss(2, step) += means(0, order, step) / n_random_order;
      accuracy(2, step) += means(1, order, step) / n_random_order;
    }
    for (std::size_t order = 2; order < n_curve_order; ++order) {
      squares += std::pow(means(0, order, step) - loss(2, step), 2);
    }
    deviation(step) = std::sqrt(squares / (n_random_order - 1));
  }
  const std::string orders =
      "; heads in ascending order of their zero-ablation loss increase (ablation), of their "
      "layer-normalized per_example "
      "importance (importance), or in random order, the mean of 5 seeded ones (random); step is "
      "the share left out; documents of even number make the orders, those of odd number score "
      "them";
  group.add(Variable::real("curve", {"order", "step"}, loss,
                           "mean loss with the first heads of an order set to zero" + orders,
                           "nats per token", michel_2019));
  group.add(Variable::real("curve_random_std", {"step"}, deviation,
                           "standard deviation of the loss over the 5 random orders",
                           "nats per token", michel_2019));
  group.add(Variable::real("curve_accuracy", {"order", "step"}, accuracy,
                           "share of tokens predicted as most probable" + orders, "1",
                           michel_2019));
}

/// The share of heads up to which the loss stays at most (1 + tolerance) times the whole model's,
/// interpolated between the steps of the curve of an order.
double prunable_share(const Array& means, std::size_t order, double tolerance) {
  const double limit = (1 + tolerance) * means(0, order, 0);
  std::size_t step = 1;
  while (step < n_curve_step && means(0, order, step) <= limit) ++step;
  double steps = static_cast<double>(step - 1);
  if (step < n_curve_step) {
    const double before = means(0, order, step - 1);
    steps += (limit - before) / (means(0, order, step) - before);
  }
  return steps / (n_curve_step - 1);
}

constexpr std::array<double, 2> tolerances{0.01, 0.05};

void add_prunable_share(const DocumentRows& rows, const AnalysisSettings& settings,
                        ResultsGroup& group) {
  // Of ablation and importance the order under which more heads can go on even documents.
  const Array even = curve_means(rows, every_document_once(rows), false);
  std::array<std::size_t, tolerances.size()> orders{};
  for (std::size_t i = 0; i < tolerances.size(); ++i) {
    orders[i] =
        prunable_share(even, 1, tolerances[i]) > prunable_share(even, 0, tolerances[i]) ? 1 : 0;
  }
  std::vector<Estimate> shares =
      bootstrap_of(rows, settings).estimates([&](const Weights& weights) {
        const Array means = curve_means(rows, weights);
        std::vector<double> each;
        each.reserve(tolerances.size());
        for (std::size_t i = 0; i < tolerances.size(); ++i) {
          each.push_back(prunable_share(means, orders[i], tolerances[i]));
        }
        return each;
      });
  for (Estimate& share : shares) share = within(std::move(share), 0, 1);
  group.add_dimension(Dimension::numbers("tolerance", {tolerances.begin(), tolerances.end()}));
  group.add(Variable::estimated(
      "prunable_share", {"tolerance"}, {tolerances.size()}, shares, "documents resampled",
      "share of heads up to which they can be set to zero with a loss within (1 + tolerance) of "
      "the whole model's, interpolated between the steps of curve, by the order of ablation and "
      "importance that is better on documents of even number",
      "1", own_definition));
}

/// @param i  index along the dimension tolerance.
Claim prunable_claim(const ResultsGroup& group, std::size_t i) {
  constexpr double many = 0.2;
  const double tolerance = tolerances[i];
  Claim claim;
  claim.number = 9;
  claim.source = "Michel et al. 2019; Voita et al. 2019";
  claim.statement =
      "Many heads can be pruned at little cost (within " + percent(tolerance) + " of the loss).";
  claim.effect_name = "share of heads that can be set to zero within " + percent(tolerance) +
                      " of the baseline loss";
  claim.effect = group.variable("prunable_share").estimate(i);
  claim.verdict = verdict_of(claim.effect, Side::at_least, many);
  claim.evidence = percent(claim.effect.value) +
                   " of the heads can go, by the better of two informed orders made and chosen on "
                   "documents of even number, before the loss of those of odd number exceeds " +
                   percent(1 + tolerance) +
                   " of the baseline. It holds when the interval lies at or above " +
                   percent(many) + ", fails when below.";
  return claim;
}

std::string harmless_text(const ResultsGroup& group) {
  const double n_interval = group.variable("n_interval").values(0);
  if (n_interval == 0) {
    return "Which heads can be set to zero without a loss increase cannot be told: there are no "
           "intervals, which take at least " +
           std::to_string(least_documents) + " documents and " + std::to_string(least_resamples) +
           " resamples.";
  }
  return number_text(group.variable("n_harmless").values(0), 0) + " of " +
         number_text(n_interval, 0) +
         " heads can each be set to zero without a loss increase distinguishable from none.";
}

/// The loss over all documents, and over those whose heads were ablated if these are fewer.
std::string loss_text(const ResultsGroup& group, const DocumentRows& rows) {
  const std::string baseline =
      number_text(group.variable("loss_baseline").values.values[0], 3) + " nats per token";
  const auto on = [](std::size_t n) { return "On " + count_text(n, "document") + " the loss is "; };
  const Estimate loss = group.variable("loss").estimate(0);
  const auto n_read = static_cast<std::size_t>(group.variable("n_document").values.values[0]);
  std::string text = on(n_read) + number_text(loss.value, 3) + " nats per token";
  if (loss.has_interval()) {
    text +=
        " (95 % interval " + number_text(loss.low, 3) + " to " + number_text(loss.high, 3) + ")";
  }
  const auto n_first_order =
      static_cast<std::size_t>(group.variable("n_document_first_order").values.values[0]);
  if (n_read != n_first_order) {
    text += "; on the " + std::to_string(n_first_order) + " of them, spread evenly, on which " +
            (rows.others.size() == 0 ? "heads were ablated" : "the gradient was taken") +
            " it is " + baseline;
  }
  return text + ".";
}

std::string summary_text(const ResultsGroup& group, const DocumentRows& rows) {
  const Array &increase = group.variable("loss_increase").values,
              &correlation = group.variable("importance_correlation").values;
  const std::size_t worst = largest(increase.part(0).values).value_or(0);
  return loss_text(group, rows) + " The head whose removal costs most is " +
         unit_text(worst, increase.shape[2]) + " (+" + number_text(increase.values[worst], 3) +
         " nats). " + harmless_text(group) +
         " The importance of Michel et al., |sum of z.g| per example, ranks heads as zero ablation "
         "does with a Spearman correlation of " +
         decimals(correlation(1), 2) + "; the signed prediction of the loss increase with one of " +
         decimals(correlation(2), 2) + ".";
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
  std::vector<std::vector<Index>> orders{ascending_units(zero),
                                         ascending_units(normalized_by_layer(per_example))};
  for (std::size_t i = 0; i < n_random_order; ++i) {
    orders.push_back(
        permutation(config.n_layer * config.n_head, CounterRandom(CounterRandom(seed).value(i))));
  }
  return orders;
}

ResultsGroup pruning_results(const Statistics& statistics, const ModelConfig& config,
                             const AnalysisSettings& settings) {
  const DocumentRows rows = document_rows(statistics);
  ResultsGroup group;
  group.name = "pruning";
  group.title = "Head pruning";
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
  group.add(Variable::estimated("loss_baseline", {}, {}, loss, phases_resampled(rows),
                                "mean negative log likelihood of a predicted token with all heads, "
                                "over the n_document_first_order documents",
                                "nats per token", michel_2019));
  const auto n_ablated = static_cast<double>(rows.size());
  group.add(Variable::integer("n_document_ablated", {}, Array(Shape{}, n_ablated),
                              "documents whose heads were ablated, spread evenly over the corpus",
                              "count", own_definition));
  group.add(Variable::integer(
      "n_document_first_order", {}, Array(Shape{}, n_ablated + rows.others.n_document),
      "documents on which the gradient predicted what heads do: those whose heads were ablated, "
      "and all others of the sample",
      "count", own_definition));
  add_loss(statistics, settings, group);
  add_loss_increase(rows, config, settings, group);
  add_precision_error(statistics, rows, group);
  add_importance(rows, group);
  add_direct_effects(rows, config, settings, group);
  if (!rows.curve.empty()) {
    add_curves(rows, group);
    add_prunable_share(rows, settings, group);
    for (std::size_t i = 0; i < tolerances.size(); ++i) {
      group.claims.push_back(prunable_claim(group, i));
    }
  }
  group.summary = summary_text(group, rows);
  doubt_a_loss_above_chance(config, group);
  return group;
}

}  // namespace headscope
