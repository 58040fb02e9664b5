#include "pruning/phases.hpp"

#include <algorithm>
#include <iterator>

#include "base/number_text.hpp"

namespace headscope {
namespace {

/// Predicted tokens of all documents whose gradients were taken.
double n_predicted_of_all(const DocumentRows& rows, const PhaseWeights& weights) {
  return weighted_sum(rows.n_predicted, weights.ablated) +
         weighted_sum(rows.gradient_only.n_predicted, weights.gradient_only);
}

/// First-order and exact increases of one head over documents, weighted by their predicted tokens.
struct Regression {
  double n_document = 0, n_predicted = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;

  /// @param x, y  first-order and exact increase, nats summed over the document's tokens.
  void add(double weight, double tokens, double x_summed, double y_summed) {
    n_document += weight;
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
  /// 1 for few documents, through which some line always passes; 0 if they do not differ in x.
  double slope() const {
    if (n_document < least_regressed) return 1;
    return variation_x() > 0 ? covariation() / variation_x() : 0;
  }
  /// NaN if the documents do not differ in x or in y.
  double r2() const {
    if (variation_x() == 0 || variation_y() == 0) return arma::datum::nan;
    return covariation() * covariation() / (variation_x() * variation_y());
  }

 private:
  static double above_rounding(double difference, double minuend) {
    return difference > 1e-12 * minuend ? difference : 0;
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

/// Mean first-order increase of all documents whose gradients were taken, nats per predicted token:
/// n_ablation_row x layer x head.
Array predicted_means(const DocumentRows& rows, const PhaseWeights& weights) {
  Array means(rows.ablated.front()->shape);
  const double n_predicted = n_predicted_of_all(rows, weights);
  for (std::size_t i = 0; i < means.size(); ++i) {
    double sum = 0;
    for (std::size_t d = 0; d < rows.size(); ++d) {
      if (weights.ablated[d] > 0) sum += weights.ablated[d] * rows.first_order[d].values[i];
    }
    for (std::size_t block = 0; block < rows.gradient_only.size(); ++block) {
      sum += weights.gradient_only[block] * rows.gradient_only.first_order[block].values[i];
    }
    means.values[i] = sum / n_predicted;
  }
  return means;
}

/// exact_increases moved along the regression on the prediction, from its mean over the ablated
/// documents to `predicted`.
Array regressed_increases(const DocumentRows& rows, const BootstrapCounts& ablated,
                          const Array& predicted) {
  Array increases = exact_increases(rows, ablated);
  for (std::size_t i = 0; i < increases.size(); ++i) {
    const Regression regression = regression_of(rows, ablated, i);
    increases.values[i] += regression.slope() * (predicted.values[i] - regression.mean_x());
  }
  return increases;
}

}  // namespace

PhaseWeights both_phases_once(const DocumentRows& rows) {
  return {every_document_once(rows), BootstrapCounts(rows.gradient_only.size(), 1)};
}

PhaseWeights even_documents(const DocumentRows& rows) {
  const bool has_even = std::ranges::any_of(rows.document, [](auto d) { return d % 2 == 0; });
  PhaseWeights weights{weights_of_parity(rows, BootstrapCounts(rows.size(), 1), false), {}};
  for (const std::size_t block : rows.gradient_only.block) {
    weights.gradient_only.push_back(has_even && block % 2 == 1 ? 0 : 1);
  }
  return weights;
}

double baseline_loss(const DocumentRows& rows, const PhaseWeights& weights) {
  return (weighted_sum(rows.baseline, weights.ablated) +
          weighted_sum(rows.gradient_only.baseline, weights.gradient_only)) /
         n_predicted_of_all(rows, weights);
}

Array exact_increases(const DocumentRows& rows, const BootstrapCounts& weights) {
  const double n_predicted = weighted_sum(rows.n_predicted, weights),
               baseline = weighted_sum(rows.baseline, weights);
  return weighted(rows.ablated, weights).mapped([&](double loss) {
    return (loss - baseline) / n_predicted;
  });
}

Array loss_increases(const DocumentRows& rows, const PhaseWeights& weights) {
  if (rows.gradient_only.size() == 0) return exact_increases(rows, weights.ablated);
  return regressed_increases(rows, weights.ablated, predicted_means(rows, weights));
}

double first_order_r2(const DocumentRows& rows, std::size_t place) {
  return regression_of(rows, every_document_once(rows), place).r2();
}

std::vector<Estimate> estimates_of_phases(
    const DocumentRows& rows, const AnalysisSettings& settings,
    const std::function<std::vector<double>(const PhaseWeights&)>& statistic) {
  const std::size_t n_ablated = rows.size(),
                    n_resample = n_ablated < least_documents ? 0 : settings.n_bootstrap;
  const Bootstrap bootstrap(n_ablated + rows.gradient_only.size(), n_resample, settings.seed);
  return bootstrap.estimates([&](const BootstrapCounts& weights) {
    const auto last_ablated = std::next(weights.begin(), static_cast<std::ptrdiff_t>(n_ablated));
    return statistic({{weights.begin(), last_ablated}, {last_ablated, weights.end()}});
  });
}

Array corpus_half_widths(const DocumentRows& rows, double n_document,
                         const AnalysisSettings& settings) {
  const Bootstrap bootstrap = bootstrap_of(rows, settings);
  const auto n_ablated = static_cast<double>(rows.size()),
             n_gradient = n_ablated + rows.gradient_only.n_document;
  // The ablated documents vary; the mean of the predictions stays that of all.
  const Array predicted = predicted_means(rows, both_phases_once(rows));
  Array squared(rows.ablated.front()->shape, 0);
  const auto add = [&](double share, const auto& statistic) {
    if (share == 0) return;
    const std::vector<Estimate> estimates = bootstrap.estimates(statistic);
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      const double half_width = (estimates[i].high - estimates[i].low) / 2;
      squared.values[i] += share * half_width * half_width;
    }
  };
  const auto exact = [&](const BootstrapCounts& weights) {
    return exact_increases(rows, weights).values;
  };
  const auto regression = [&](const BootstrapCounts& weights) {
    return regressed_increases(rows, weights, predicted).values;
  };
  add(1 - n_ablated / n_gradient, regression);
  add(n_ablated / n_gradient * (1 - n_gradient / n_document), exact);
  for (double& half_width : squared.values) half_width = std::sqrt(half_width);
  return squared;
}

std::string phases_resampled(const DocumentRows& rows) {
  if (rows.gradient_only.size() == 0) return "documents resampled";
  return "documents resampled, " + std::to_string(rows.size()) + " of " +
         number_text(static_cast<double>(rows.size()) + rows.gradient_only.n_document, 0) +
         " ablated";
}

}  // namespace headscope
