#include "pruning/results.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/number_text.hpp"
#include "headscope/error.hpp"
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

const char* const elhage_2021 = "Elhage et al. 2021";

const std::string direct_effect =
    "direct effect on the next token's logit minus the mean logit of the vocabulary, mean over "
    "predicted tokens of the documents whose heads were ablated: what is written to the residual "
    "stream, taken through the final LayerNorm with its scale held fixed and through W_U; ";

const std::string curve_orders =
    "; heads in ascending order of their zero-ablation loss increase (ablation), of their "
    "layer-normalized per_example "
    "importance (importance), or in random order, the mean of 5 seeded ones (random); step is "
    "the share left out; documents of even number make the orders, those of odd number score "
    "them";

const VariableTable variables{
    {"loss_baseline", "", "nats per token",
     "mean negative log likelihood of a predicted token with all heads, over the "
     "n_document_first_order documents",
     michel_2019, "{resampled}"},
    Declaration::count("n_document_ablated", "",
                       "documents whose heads were ablated, spread evenly over the corpus"),
    Declaration::count(
        "n_document_first_order", "",
        "documents on which the gradient predicted what heads do: those whose heads were "
        "ablated, and all others of the sample"),
    {"loss", "", "nats per token",
     "mean negative log likelihood of a predicted token, all documents that were read", michel_2019,
     "documents (of a large corpus, 128 blocks of them) resampled"},
    Declaration::count("n_document", "", "documents that were read"),
    {"loss_increase", "ablation layer head", "nats per token",
     "mean loss with one head ablated minus the baseline; zero: z set to 0; mean: z set to its "
     "mean over the tokens of these documents, position 0 left out; resample: z of another "
     "document at the same position of a piece, own z where no piece of another document is as "
     "long{combined}",
     std::string(michel_2019) + "{regression}", "{resampled}, in pairs with the baseline"},
    Declaration::count("n_interval", "ablation", "heads whose loss_increase has an interval"),
    Declaration::count(
        "n_harmless", "ablation",
        "heads whose interval of loss_increase does not lie above 0: without them the "
        "loss is not distinguishably higher"),
    {"first_order_r2", "layer head", "1",
     "squared correlation over the ablated documents, weighted by their predicted tokens, of the "
     "loss increase of zero ablation and the increase that the gradient predicts; no value for "
     "fewer than three documents",
     cochran_1977},
    {"loss_all_but_one", "layer head", "nats per token",
     "mean loss with every other head of the layer set to zero",
     std::string(michel_2019) + ", table 2"},
    {"precision_error", "statistic", "1",
     "error of loss_increase (zero) by the products in use against float32 products, for {n_head} "
     "heads spread evenly; median_relative: median over them of |error| / |increase|; "
     "worst_of_typical: largest |error| / median over all heads of |increase|"},
    {"importance", "variant layer head", "nats per token",
     "mean over documents, g being the gradient of the document's mean loss by z: per_token sums "
     "|z.g| over tokens, per_example is |sum of z.g|, signed is -(sum of z.g), the first-order "
     "prediction of zero ablation",
     michel_2019},
    {"importance_normalized", "variant layer head", "1",
     "importance, each layer's vector divided by its L2 norm",
     "Molchanov et al. 2017; Michel et al. 2019"},
    {"first_order_correlation", "", "1",
     "Spearman's rank correlation over heads between signed importance and the loss increase of "
     "zero ablation",
     michel_2019},
    {"importance_correlation", "variant", "1",
     "Spearman's rank correlation over heads between importance and the loss increase of zero "
     "ablation",
     michel_2019},
    {"direct_effect", "layer head", "logits", direct_effect + "of the head's output", elhage_2021,
     "documents resampled"},
    {"direct_effect_mlp", "layer", "logits", direct_effect + "of the MLP's output", elhage_2021},
    {"direct_effect_embedding", "", "logits",
     direct_effect + "of the token and position embeddings", elhage_2021},
    {"direct_effect_bias", "", "logits",
     direct_effect + "of all b_O, with the constants of the final LayerNorm and the unembedding",
     elhage_2021},
    {"direct_effect_total", "", "logits",
     direct_effect + "of the whole residual stream; the parts of heads, MLPs, embeddings and "
                     "biases add up to it",
     elhage_2021},
    {"curve", "order step", "nats per token",
     "mean loss with the first heads of an order set to zero" + curve_orders, michel_2019},
    {"curve_random_std", "step", "nats per token",
     "standard deviation of the loss over the 5 random orders", michel_2019},
    {"curve_accuracy", "order step", "1",
     "share of tokens predicted as most probable" + curve_orders, michel_2019},
    {"prunable_share", "tolerance", "1",
     "share of heads up to which they can be set to zero with a loss within (1 + tolerance) of "
     "the whole model's, interpolated between the steps of curve, by the order of ablation and "
     "importance that is better on documents of even number",
     own_definition, "documents resampled"},
};

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

constexpr std::size_t all_but_one_row = 2;

/// The increase that the gradient predicts of each ablation.
/// @param increase  row x layer x head, multiplied by `sign`; that of zero, mean and resample from
///                  row `first` on.
/// @return n_ablation_row x layer x head; all heads but one lose what each of them loses.
Array predicted_increases(const Array& increase, std::size_t first, double sign) {
  const arma::mat zero = sign * increase.matrix(first), whole = arma::sum(zero, 1);
  Array predicted({n_ablation_row, zero.n_rows, zero.n_cols});
  predicted.set(zero, 0);
  predicted.set(sign * increase.matrix(first + 1), 1);
  predicted.set(arma::repmat(whole, 1, zero.n_cols) - zero, all_but_one_row);
  predicted.set(sign * increase.matrix(first + 2), resample_row);
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
    others.first_order.push_back(predicted_increases(first_order.part(block), 0, 1));
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
    rows.first_order.push_back(predicted_increases(*rows.importance.back(), 1, -1));
  }
  rows.others = other_blocks(statistics);
  return rows;
}

/// How often ablated documents and blocks of the others count.
struct PhaseWeights {
  BootstrapCounts ablated, others;
  /// Documents and blocks for each one drawn: makes up for drawing fewer than there are.
  double ablated_scale = 1, others_scale = 1;
};

/// The weights with those of the other half of the documents set to 0: even ones make the orders of
/// pruning, odd ones score them. All, if there is no ablated document of that parity.
BootstrapCounts of_half(const DocumentRows& rows, BootstrapCounts weights, bool odd) {
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
  PhaseWeights weights{of_half(rows, BootstrapCounts(rows.size(), 1), false), {}};
  for (const std::size_t block : rows.others.block) {
    weights.others.push_back(has_even && block % 2 == 1 ? 0 : 1);
  }
  return weights;
}

/// Element-wise weighted sum of equal-shaped rows.
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

/// A sum over ablated documents and one over blocks of the others, together.
double of_phases(double ablated, double others, const PhaseWeights& weights) {
  return weights.ablated_scale * ablated + weights.others_scale * others;
}

/// Predicted tokens of all documents whose gradients were taken.
double n_predicted_of_phases(const DocumentRows& rows, const PhaseWeights& weights) {
  return of_phases(weighted_sum(rows.n_predicted, weights.ablated),
                   weighted_sum(rows.others.n_predicted, weights.others), weights);
}

/// Mean loss of the whole model, nats per predicted token.
double baseline_loss(const DocumentRows& rows, const PhaseWeights& weights) {
  return of_phases(weighted_sum(rows.baseline, weights.ablated),
                   weighted_sum(rows.others.baseline, weights.others), weights) /
         n_predicted_of_phases(rows, weights);
}

/// Mean loss of ablated documents with each ablation minus their baseline, nats per predicted
/// token: n_ablation_row x layer x head.
Array exact_increases(const DocumentRows& rows, const BootstrapCounts& weights) {
  const double n_predicted = weighted_sum(rows.n_predicted, weights),
               baseline = weighted_sum(rows.baseline, weights);
  return weighted(rows.ablated, weights).mapped([&](double loss) {
    return (loss - baseline) / n_predicted;
  });
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
Regression regression_of(const DocumentRows& rows, const BootstrapCounts& weights,
                         std::size_t place) {
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

BootstrapCounts every_document_once(const DocumentRows& rows) {
  return BootstrapCounts(rows.size(), 1);
}

PhaseWeights both_phases_once(const DocumentRows& rows) {
  return {every_document_once(rows), BootstrapCounts(rows.others.size(), 1)};
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
    return bootstrap_of(rows, settings).estimates([&](const BootstrapCounts& weights) {
      return statistic({weights, {}});
    });
  }
  constexpr std::uint64_t others_stream = std::uint64_t{1} << 60;
  const Bootstrap ablated = bootstrap_of(rows, settings),
                  others(rows.others.size(), settings.n_bootstrap,
                         CounterRandom(settings.seed, others_stream).value(0));
  const auto scale = [](const BootstrapCounts& weights) {
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

/// Row in the statistics of each ablation in the results: zero, mean, resample.
constexpr std::size_t ablation_rows[] = {0, 1, resample_row};

/// Adds how many heads have an interval for their loss increase, and how many of those intervals do
/// not lie above 0.
void add_harmless(ResultsGroup& group) {
  const Variable& increase = group.variable("loss_increase");
  const Shape& shape = increase.values.shape;
  Array n_interval({shape[0]}), n_harmless = n_interval;
  for (std::size_t i = 0; i < increase.values.size(); ++i) {
    const Estimate of_head = increase.estimate(i);
    if (!of_head.has_interval()) continue;
    const std::size_t ablation = unravelled(i, shape).front();
    n_interval(ablation) += 1;
    if (of_head.low <= 0) n_harmless(ablation) += 1;
  }
  group.add(variables["n_interval"], n_interval);
  group.add(variables["n_harmless"], n_harmless);
}

/// Adds how well a head's first-order effect follows its exact one from document to document.
void add_first_order_r2(const DocumentRows& rows, const ModelConfig& config, ResultsGroup& group) {
  Array r2({config.n_layer, config.n_head}, std::nan(""));
  for (std::size_t head_index = 0; head_index < r2.size() && rows.size() > 2; ++head_index) {
    r2.values[head_index] = regression_of(rows, every_document_once(rows), head_index).r2();
  }
  group.add(variables["first_order_r2"], r2);
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
  const bool is_exact = rows.others.size() == 0;
  group.add(variables["loss_increase"]
                .with("resampled", phases_resampled(rows))
                .with("combined", is_exact ? ""
                                           : "; exact on n_document_ablated documents and "
                                             "predicted by the gradient on n_document_first_order, "
                                             "combined by regression")
                .with("regression", is_exact ? "" : std::string("; ") + cochran_1977),
            estimates);
  add_harmless(group);
  add_first_order_r2(rows, config, group);

  const PhaseWeights once = both_phases_once(rows);
  const double baseline = baseline_loss(rows, once);
  group.add(variables["loss_all_but_one"],
            loss_increases(rows, once).part(all_but_one_row).mapped([&](double increase) {
              return increase + baseline;
            }));
}

/// Adds the error of the loss increases of a sample of heads, zero ablation, against float32.
void add_precision_error(const Statistics& statistics, const DocumentRows& rows,
                         ResultsGroup& group) {
  if (!statistics.has("float32")) return;
  std::vector<const Array*> samples;
  for (const auto& [document, row] : statistics.rows("float32")) samples.push_back(&row);
  const BootstrapCounts once = every_document_once(rows);
  const Array exact = weighted(samples, once), zero = exact_increases(rows, once).part(0);
  const double n_predicted = weighted_sum(rows.n_predicted, once),
               baseline = weighted_sum(rows.baseline, once);
  std::vector<double> sizes, relative;
  for (const double increase : zero.values) sizes.push_back(std::abs(increase));
  double worst = 0;
  const std::vector<Index> sample = precision_sample(zero.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double increase = (exact(i) - baseline) / n_predicted;
    const double error = std::abs(zero.values[sample[i]] - increase);
    relative.push_back(error / std::abs(increase));
    worst = std::max(worst, error);
  }
  group.add_dimension(Dimension::labels("statistic", {"median_relative", "worst_of_typical"}));
  group.add(variables["precision_error"].with("n_head", std::to_string(sample.size())),
            std::vector{arma::median(arma::vec(relative)), worst / arma::median(arma::vec(sizes))});
}

void add_importance(const DocumentRows& rows, ResultsGroup& group) {
  const Array importance = mean_importance(rows, every_document_once(rows));
  Array normalized(importance.shape);
  for (std::size_t variant = 0; variant < n_importance; ++variant) {
    normalized.set(normalized_by_layer(importance.part(variant)).matrix(), variant);
  }
  group.add(variables["importance"], importance);
  group.add(variables["importance_normalized"], normalized);
  const Array zero = group.values("loss_increase").part(0);
  std::vector<double> correlation;
  for (std::size_t variant = 0; variant < n_importance; ++variant) {
    correlation.push_back(spearman(importance.part(variant).values, zero.values));
  }
  group.add(variables["first_order_correlation"], correlation.back());
  group.add(variables["importance_correlation"], correlation);
}

/// Adds the loss over all documents.
void add_loss(const Statistics& statistics, const AnalysisSettings& settings, ResultsGroup& group) {
  const Array n_document = statistics.total("n_document"), sums = statistics.total("loss");
  const Bootstrap bootstrap =
      Bootstrap::of_documents(n_document.values, settings.n_bootstrap, settings.seed);
  const std::vector<Estimate> loss = bootstrap.estimates([&](const BootstrapCounts& weights) {
    double nats = 0, n_predicted = 0;
    for (std::size_t block = 0; block < weights.size(); ++block) {
      nats += weights[block] * sums(block, 0);
      n_predicted += weights[block] * sums(block, 1);
    }
    return std::vector<double>{nats / n_predicted};
  });
  group.add(variables["loss"], loss);
  group.add(variables["n_document"],
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
  group.add(variables["direct_effect"], heads);
  const Array parts = mean(rows.direct_part, every_document_once(rows));
  std::vector<double> mlps = parts.values;
  mlps.resize(config.n_layer);
  group.add(variables["direct_effect_mlp"], mlps);
  for (const auto& [name, part] : {std::pair("direct_effect_embedding", DirectPart::embedding),
                                   {"direct_effect_bias", DirectPart::bias},
                                   {"direct_effect_total", DirectPart::total}}) {
    group.add(variables[name], parts(config.n_layer + static_cast<std::size_t>(part)));
  }
}

/// Loss (part 0) and accuracy (part 1) per predicted token of the documents of odd number, which
/// score, or of those of even number: part x order x step.
Array curve_means(const DocumentRows& rows, const BootstrapCounts& all_weights, bool odd = true) {
  const BootstrapCounts weights = of_half(rows, all_weights, odd);
  const double n_predicted = weighted_sum(rows.n_predicted, weights);
  return weighted(rows.curve, weights).mapped([&](double sum) { return sum / n_predicted; });
}

/// The curves of both informed orders and the mean of those of random orders: 3 x step.
/// @param of_orders  order x step.
Array shown_curves(const arma::mat& of_orders) {
  arma::rowvec random(of_orders.n_cols, arma::fill::zeros);
  for (std::size_t order = 2; order < n_curve_order; ++order) {
    random += of_orders.row(order) / n_random_order;
  }
  Array shown({3, of_orders.n_cols});
  shown.set(arma::join_cols(of_orders.rows(0, 1), random));
  return shown;
}

void add_curves(const DocumentRows& rows, ResultsGroup& group) {
  const Array means = curve_means(rows, every_document_once(rows));
  const arma::mat of_orders = means.matrix(0);
  const Array loss = shown_curves(of_orders);
  arma::rowvec squares(n_curve_step, arma::fill::zeros);
  for (std::size_t order = 2; order < n_curve_order; ++order) {
    squares += arma::square(of_orders.row(order) - loss.matrix().row(2));
  }
  group.add(variables["curve"], loss);
  group.add(variables["curve_random_std"],
            arma::conv_to<std::vector<double>>::from(arma::sqrt(squares / (n_random_order - 1))));
  group.add(variables["curve_accuracy"], shown_curves(means.matrix(1)));
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
      bootstrap_of(rows, settings).estimates([&](const BootstrapCounts& weights) {
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
  group.add(variables["prunable_share"], shares);
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
  const double n_interval = group.values("n_interval")(0);
  if (n_interval == 0) {
    return "Which heads can be set to zero without a loss increase cannot be told: there are no "
           "intervals, which take at least " +
           std::to_string(least_documents) + " documents and " + std::to_string(least_resamples) +
           " resamples.";
  }
  return number_text(group.values("n_harmless")(0), 0) + " of " + number_text(n_interval, 0) +
         " heads can each be set to zero without a loss increase distinguishable from none.";
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
    text += "; on the " + std::to_string(n_first_order) + " of them, spread evenly, on which " +
            (rows.others.size() == 0 ? "heads were ablated" : "the gradient was taken") +
            " it is " + baseline;
  }
  return text + ".";
}

std::string summary_text(const ResultsGroup& group, const DocumentRows& rows) {
  const Array &increase = group.values("loss_increase"),
              &correlation = group.values("importance_correlation");
  const std::size_t worst = largest(increase.part(0).values).value_or(0);
  return loss_text(group, rows) + " The head whose removal costs most is " +
         head_text(worst, increase.shape[2]) + " (+" + number_text(increase.values[worst], 3) +
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
  std::vector<std::vector<Index>> orders{ascending_heads(zero),
                                         ascending_heads(normalized_by_layer(per_example))};
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
  group.add(variables["loss_baseline"].with("resampled", phases_resampled(rows)), loss);
  const auto n_ablated = static_cast<double>(rows.size());
  group.add(variables["n_document_ablated"], n_ablated);
  group.add(variables["n_document_first_order"], n_ablated + rows.others.n_document);
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
