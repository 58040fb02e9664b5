#include "correlation/likeness.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "correlation/results.hpp"
#include "correlation/sums.hpp"
#include "headscope/random.hpp"
#include "headscope/resampling.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// By layer: mean |cosine| of different heads in head space, the same in residual space, and the
/// share of output_overlap. 3 n_layer values; NaN where fewer than two heads write something.
std::vector<double> likeness_values(const BlockProducts& blocks, const BootstrapCounts& weights) {
  std::vector<double> values, overlap;
  for (const std::size_t space : {head_space, residual_space}) {
    const Array total = total_products(blocks[space], weights);
    for (Index layer = 0; layer < total.shape[0]; ++layer) {
      const arma::mat products = total.matrix(layer);
      const double cosine = mean_abs_off_diagonal(cosines(products));
      values.push_back(cosine);
      if (space != residual_space) continue;
      const arma::mat sizes = arma::abs(products);
      overlap.push_back(std::isnan(cosine) ? cosine : 1 - arma::trace(sizes) / arma::accu(sizes));
    }
  }
  values.insert(values.end(), overlap.begin(), overlap.end());
  return values;
}

/// Appends the means over layers of |cosine| in residual space and of the overlap.
std::vector<double> with_means(std::vector<double> values) {
  const auto n_layer = static_cast<std::ptrdiff_t>(values.size() / 3);
  for (const std::ptrdiff_t first : {n_layer, 2 * n_layer}) {
    values.push_back(mean_of_numbers({values.begin() + first, values.begin() + first + n_layer}));
  }
  return values;
}

/// @param estimates  of with_means' values.
Likeness as_likeness(std::vector<Estimate> estimates) {
  const std::size_t n_layer = estimates.size() / 3;
  Likeness likeness;
  likeness.output_overlap = std::move(estimates.back());
  estimates.pop_back();
  likeness.mean_abs_cosine_mean = std::move(estimates.back());
  estimates.resize(2 * n_layer);
  likeness.mean_abs_cosine = std::move(estimates);
  return likeness;
}

BlockProducts control_products(const ControlValues& control) {
  return {control.at("head_total"), control.at("residual_total")};
}

}  // namespace

double prediction_half_width(const std::vector<double>& values, double level) {
  if (values.size() < 2) return std::nan("");
  const auto n = static_cast<double>(values.size());
  const boost::math::students_t_distribution<> student(n - 1);
  return boost::math::quantile(student, (1 + level) / 2) * arma::stddev(arma::vec(values)) *
         std::sqrt(1 + 1 / n);
}

BlockProducts block_products(const Statistics& statistics) {
  return {statistics.total("head_total"), statistics.total("residual_total")};
}

Array total_products(const Array& blocks, const BootstrapCounts& weights) {
  return blocks.weighted_sum(weights.empty() ? BootstrapCounts(blocks.shape[0], 1) : weights);
}

Likeness likeness_of(const Statistics& statistics, const AnalysisSettings& settings) {
  const BlockProducts blocks = block_products(statistics);
  std::vector<Estimate> estimates = settings.bootstrap(statistics.total("n_document").values)
                                        .estimates([&](const BootstrapCounts& weights) {
                                          return with_means(likeness_values(blocks, weights));
                                        });
  for (Estimate& estimate : estimates) estimate = within(std::move(estimate), 0, 1);
  return as_likeness(std::move(estimates));
}

LikenessDifference likeness_difference(const Statistics& statistics,
                                       const std::vector<ControlValues>& controls,
                                       const AnalysisSettings& settings) {
  const BlockProducts trained = block_products(statistics);
  std::vector<BlockProducts> untrained;
  for (const ControlValues& control : controls) untrained.push_back(control_products(control));
  const Bootstrap documents = settings.bootstrap(statistics.total("n_document").values),
                  control_documents = settings.bootstrap(controls.front().at("n_document").values);
  // Trained minus the mean of `chosen` untrained models.
  const auto differences = [&](const BootstrapCounts& weights,
                               const BootstrapCounts& control_weights,
                               const std::vector<std::size_t>& chosen) {
    std::vector<double> values = likeness_values(trained, weights);
    for (const std::size_t control : chosen) {
      const std::vector<double> of_control = likeness_values(untrained[control], control_weights);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] -= of_control[i] / static_cast<double>(chosen.size());
      }
    }
    return with_means(std::move(values));
  };
  std::vector<std::size_t> all_controls(controls.size());
  std::iota(all_controls.begin(), all_controls.end(), std::size_t{0});
  const std::vector<double> observed =
      differences(documents.observed(), control_documents.observed(), all_controls);
  std::vector<std::vector<double>> samples;
  const std::size_t n_resample = std::min(documents.n_resample(), control_documents.n_resample());
  constexpr std::uint64_t model_stream = 3;  // documents use the streams of the bootstrap
  for (std::size_t i = 0; i < n_resample; ++i) {
    const CounterRandom random(CounterRandom(settings.seed, model_stream).value(i));
    std::vector<std::size_t> drawn;
    for (std::size_t draw = 0; draw < n_drawn(all_controls.size()); ++draw) {
      drawn.push_back(random.below(all_controls.size(), draw));
    }
    samples.push_back(differences(documents.draw(i), control_documents.draw(i), drawn));
  }
  LikenessDifference difference{as_likeness(bootstrap_estimates(observed, samples))};
  std::vector<double> cosines, overlaps;
  for (const std::size_t control : all_controls) {
    const std::vector<double> from_one =
        differences(documents.observed(), control_documents.observed(), {control});
    overlaps.push_back(from_one.back());
    cosines.push_back(from_one.end()[-2]);
  }
  difference.untrained_cosine = prediction_half_width(cosines, 0.95);
  difference.untrained_overlap = prediction_half_width(overlaps, 0.95);
  return difference;
}

Array control_cosines(const std::vector<ControlValues>& controls) {
  const std::size_t n_layer = controls.front().at("head_total").shape[1];
  Array cosines({controls.size(), 2, n_layer});
  for (std::size_t control = 0; control < controls.size(); ++control) {
    const std::vector<double> values = likeness_values(control_products(controls[control]), {});
    std::copy_n(values.begin(), 2 * n_layer,
                cosines.values.begin() + static_cast<std::ptrdiff_t>(control * 2 * n_layer));
  }
  return cosines;
}

}  // namespace headscope
