#include "headscope/estimate.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "headscope/random.hpp"
#include "headscope/resampling.hpp"

namespace headscope {
namespace {

std::vector<std::size_t> every_index(std::size_t n) {
  std::vector<std::size_t> indices(n);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

constexpr double lower_tail = 0.025;

/// The samples that are numbers, sorted.
std::vector<double> sorted_samples(std::vector<double> samples) {
  std::erase_if(samples, [](double sample) { return std::isnan(sample); });
  std::ranges::sort(samples);
  return samples;
}

/// The first samples, in the order drawn, by which runs are paired.
std::vector<float> kept_samples(const std::vector<double>& samples) {
  return {samples.begin(), samples.begin() + std::min(n_kept_resample, samples.size())};
}

/// Between the order statistics on either side.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  if (std::isinf(sorted[above])) return sorted[above];
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

/// Standard normal: the value below which this share lies.
double normal_quantile(double share) {
  return boost::math::quantile(boost::math::normal(), share);
}

/// Third central moment over the standard deviation cubed; 0 for equal samples.
double skewness(const std::vector<double>& samples) {
  const auto n = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  double second = 0, third = 0;
  for (const double sample : samples) {
    const double away = sample - mean;
    second += away * away / n;
    third += away * away * away / n;
  }
  return second > 0 ? third / std::pow(second, 1.5) : 0;
}

/// How often each of n parts is among n draws with replacement: part x resample.
std::vector<std::vector<double>> part_counts(std::size_t n, std::size_t n_resample,
                                             std::uint64_t seed) {
  std::vector<std::vector<double>> counts(n, std::vector<double>(n_resample, 0));
  for (std::size_t i = 0; i < n_resample && n > 0; ++i) {
    const CounterRandom random(seed, i);
    for (std::size_t draw = 0; draw < n; ++draw) ++counts[random.below(n, draw)][i];
  }
  return counts;
}

/// The largest t of a studentised interval. In simulations of 24 to 128 lognormal parts, or parts
/// with outliers, a larger t widens the interval many times and adds less than a hundredth to its
/// coverage.
constexpr double largest_t = 10;

/// By part, as Estimate::influences.
std::vector<double> influences_of(double value, const std::vector<double>& left_out) {
  std::vector<double> influences;
  for (const double without : left_out) {
    influences.push_back((static_cast<double>(left_out.size()) - 1) * (value - without));
  }
  return influences;
}

/// t * se of the symmetric studentised interval; infinite where t exceeds largest_t, because a few
/// parts alone decide the value; NaN where there is none.
/// @param influences  by part.
/// @param counts      as from part_counts.
double studentised_half_width(double value, const std::vector<double>& influences,
                              const std::vector<std::vector<double>>& counts) {
  const std::size_t n_part = influences.size();
  if (n_part < 2) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(n_part);
  std::vector<double> away = influences;
  const double mean = std::accumulate(away.begin(), away.end(), 0.0) / n;
  double squares = 0, largest = 0;
  for (double& distance : away) {
    distance -= mean;
    squares += distance * distance;
    largest = std::max(largest, std::abs(distance));
  }
  // Differences of float64 values of this size are rounding.
  constexpr double rounding = 1e-13;
  if (std::isnan(squares)) return squares;
  if (largest <= rounding * n * std::abs(value)) return 0;
  std::vector<double> sums(counts.front().size(), 0), sums_of_squares = sums;
  for (std::size_t part = 0; part < n_part; ++part) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double weighted = counts[part][i] * away[part];
      sums[i] += weighted;
      sums_of_squares[i] += weighted * away[part];
    }
  }
  std::vector<double> sizes;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double of_mean = sums[i] / n, variance = sums_of_squares[i] / n - of_mean * of_mean;
    sizes.push_back(variance > rounding * sums_of_squares[i] / n
                        ? std::abs(of_mean) / std::sqrt(variance / (n - 1))
                        : std::numeric_limits<double>::infinity());
  }
  std::ranges::sort(sizes);
  const double t = quantile(sizes, 1 - 2 * lower_tail);
  if (t > largest_t) return std::numeric_limits<double>::infinity();
  return t * std::sqrt(squares / (n * (n - 1)));
}

/// The value with its studentised interval, or with that of `samples` if few parts decide it.
/// @param counts   as from part_counts, of as many parts as there are influences.
/// @param samples  returns resampled values.
Estimate studentised_estimate(double value, const std::vector<double>& influences,
                              const std::vector<std::vector<double>>& counts,
                              const std::function<std::vector<double>()>& samples) {
  const double half_width = studentised_half_width(value, influences, counts);
  if (std::isnan(half_width)) return {.value = value};
  Estimate estimate{.value = value, .low = value - half_width, .high = value + half_width};
  if (std::isinf(half_width)) {
    estimate = bootstrap_estimate(value, samples());
    estimate.resamples.clear();
  }
  estimate.influences.assign(influences.begin(), influences.end());
  return estimate;
}

/// Numbers of this relative size are rounding, where influences and resamples are kept in float32.
constexpr double kept_rounding = 0x1p-22;

/// By resample, `value` plus the mean influence of parts drawn with replacement, less that of all;
/// 0 where that is rounding.
std::vector<double> resampled_by_influence(double value, const std::vector<double>& influences) {
  const double mean = std::accumulate(influences.begin(), influences.end(), 0.0) /
                      static_cast<double>(influences.size());
  const Bootstrap parts(influences.size(), n_kept_resample, 0);
  std::vector<double> samples;
  for (std::size_t i = 0; i < parts.n_resample(); ++i) {
    const BootstrapCounts drawn = parts.draw(i);
    const double n_draw = std::accumulate(drawn.begin(), drawn.end(), 0.0);
    const double sample = value + weighted_sum(influences, drawn) / n_draw - mean;
    samples.push_back(std::abs(sample) <= kept_rounding * std::abs(value) ? 0 : sample);
  }
  return samples;
}

/// Less `first`, or `expected` where that is the same up to rounding of the two.
double difference_of(float later, float first, double expected) {
  const double difference = static_cast<double>(later) - static_cast<double>(first);
  const double size = std::max(std::abs(later), std::abs(first));
  return std::abs(difference - expected) <= kept_rounding * size ? expected : difference;
}

/// The interval of a difference, no wider than from one's low bound to the other's high bound: a
/// studentised one may be, where few parts decide it.
Estimate within_bounds_of(const Estimate& later, const Estimate& first, Estimate difference) {
  if (!later.has_width() || !first.has_width()) return difference;
  return within(std::move(difference), later.low - first.high, later.high - first.low);
}

/// @param counts  as from part_counts, of as many parts as there are influences.
Estimate influence_difference(const Estimate& later, const Estimate& first,
                              const std::vector<std::vector<double>>& counts) {
  const double value = later.value - first.value;
  std::vector<double> influences;
  for (std::size_t part = 0; part < later.influences.size(); ++part) {
    influences.push_back(difference_of(later.influences[part], first.influences[part], 0));
  }
  return within_bounds_of(later, first, studentised_estimate(value, influences, counts, [&] {
                            return resampled_by_influence(value, influences);
                          }));
}

Estimate resample_difference(const Estimate& later, const Estimate& first) {
  const double value = later.value - first.value;
  std::vector<double> samples;
  for (std::size_t i = 0; i < later.resamples.size(); ++i) {
    samples.push_back(difference_of(later.resamples[i], first.resamples[i], value));
  }
  return percentile_estimate(value, std::move(samples));
}

}  // namespace

double weighted_sum(const std::vector<double>& values, const BootstrapCounts& counts) {
  return std::inner_product(values.begin(), values.end(), counts.begin(), 0.0);
}

std::size_t n_drawn(std::size_t n_unit) {
  if (n_unit < 2) return n_unit;
  const auto n = static_cast<double>(n_unit);
  const double t =
      boost::math::quantile(complement(boost::math::students_t_distribution<>(n - 1), lower_tail));
  const double narrowing = normal_half_width() / t;
  return static_cast<std::size_t>(std::max(1.0, std::round((n - 1) * narrowing * narrowing)));
}

Estimate percentile_estimate(double value, std::vector<double> samples) {
  const std::vector<float> kept = kept_samples(samples);
  const std::vector<double> sorted = sorted_samples(std::move(samples));
  if (sorted.empty() || std::isnan(value)) return {.value = value};
  return {value, quantile(sorted, lower_tail), quantile(sorted, 1 - lower_tail), kept};
}

Estimate bootstrap_estimate(double value, std::vector<double> samples) {
  const std::vector<float> kept = kept_samples(samples);
  const std::vector<double> sorted = sorted_samples(std::move(samples));
  if (sorted.empty() || std::isnan(value)) return {.value = value};
  const auto n = static_cast<double>(sorted.size());
  const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
  const double below =
      0.5 * static_cast<double>((first - sorted.begin()) + (last - sorted.begin())) / n;
  const double bias = normal_quantile(std::clamp(below, 0.5 / n, 1 - 0.5 / n)),
               acceleration = skewness(sorted) / 6;
  const auto bound = [&](double share) {
    const double z = bias + normal_quantile(share), room = 1 - acceleration * z;
    if (!(room > 0)) return z < 0 ? sorted.front() : sorted.back();
    return quantile(sorted, cdf(boost::math::normal(), bias + z / room));
  };
  return {value, bound(lower_tail), bound(1 - lower_tail), kept};
}

std::vector<Estimate> bootstrap_estimates(const std::vector<double>& values,
                                          const std::vector<std::vector<double>>& samples) {
  std::vector<Estimate> estimates;
  for (std::size_t j = 0; j < values.size(); ++j) {
    std::vector<double> of_value;
    for (const std::vector<double>& sample : samples) of_value.push_back(sample[j]);
    estimates.push_back(bootstrap_estimate(values[j], std::move(of_value)));
  }
  return estimates;
}

Estimate within(Estimate estimate, double least, double most) {
  if (!estimate.has_interval()) return estimate;
  estimate.low = std::clamp(estimate.low, least, most);
  estimate.high = std::clamp(estimate.high, least, most);
  return estimate;
}

Estimate with_width(Estimate estimate) {
  return estimate.has_width() ? estimate : Estimate{.value = estimate.value};
}

double normal_half_width() {
  return normal_quantile(1 - lower_tail);
}

Estimate with_score_interval(Estimate share, double n_unit) {
  if (!share.has_interval()) return share;
  const double z = normal_half_width(), value = share.value, units = n_unit + z * z,
               centre = (n_unit * value + z * z / 2) / units,
               half_width = z * std::sqrt(n_unit * value * (1 - value) + z * z / 4) / units;
  // Rounding puts no bound on the wrong side of the share.
  share.low = std::min(value, centre - half_width);
  share.high = std::max(value, centre + half_width);
  return share;
}

Verdict verdict_of(const Estimate& effect, Side side, double threshold) {
  bool holds = false;
  switch (side) {
    case Side::below:
      holds = effect.high < threshold;
      break;
    case Side::at_most:
      holds = effect.high <= threshold;
      break;
    case Side::at_least:
      holds = effect.low >= threshold;
      break;
    case Side::above:
      holds = effect.low > threshold;
      break;
  }
  if (holds) return Verdict::holds;
  const bool is_upper_side = side == Side::at_least || side == Side::above;
  const bool fails = is_upper_side ? effect.high < threshold : effect.low > threshold;
  return fails ? Verdict::does_not_hold : Verdict::undecided;
}

Bootstrap::Bootstrap(std::vector<std::size_t> drawn_from, std::size_t n_weight,
                     std::size_t n_resample, std::uint64_t seed)
    : drawn_from_(std::move(drawn_from)),
      n_weight_(n_weight),
      n_resample_(drawn_from_.size() < 2 || n_resample < least_resamples ? 0 : n_resample),
      seed_(seed) {}

Bootstrap::Bootstrap(std::size_t n_unit, std::size_t n_resample, std::uint64_t seed)
    : Bootstrap(every_index(n_unit), n_unit, n_resample, seed) {}

Bootstrap Bootstrap::of_documents(const std::vector<double>& documents_per_block,
                                  std::size_t n_resample, std::uint64_t seed) {
  std::vector<std::size_t> drawn_from = every_index(documents_per_block.size());
  std::erase_if(drawn_from, [&](std::size_t block) { return !(documents_per_block[block] > 0); });
  const double n_document =
      std::accumulate(documents_per_block.begin(), documents_per_block.end(), 0.0);
  const bool enough = n_document >= static_cast<double>(least_documents);
  return {std::move(drawn_from), documents_per_block.size(), enough ? n_resample : 0, seed};
}

BootstrapCounts Bootstrap::draw(std::size_t index) const {
  const CounterRandom random(seed_, index);
  BootstrapCounts weights(n_weight_, 0);
  const std::size_t n_draw = n_drawn(drawn_from_.size());
  for (std::size_t i = 0; i < n_draw; ++i) {
    ++weights[drawn_from_[random.below(drawn_from_.size(), i)]];
  }
  return weights;
}

std::size_t Bootstrap::n_left_out() const {
  return n_resample_ == 0 ? 0 : std::min(drawn_from_.size(), n_document_block);
}

std::size_t Bootstrap::part_of(std::size_t place) const {
  return document_block(place, drawn_from_.size());
}

BootstrapCounts Bootstrap::without(std::size_t index) const {
  BootstrapCounts weights = observed();
  for (std::size_t place = 0; place < drawn_from_.size(); ++place) {
    if (part_of(place) == index) weights[drawn_from_[place]] = 0;
  }
  return weights;
}

std::vector<Estimate> Bootstrap::estimates(
    const std::function<std::vector<double>(const BootstrapCounts&)>& statistic) const {
  const auto resampled = [&] {
    std::vector<std::vector<double>> samples;
    for (std::size_t i = 0; i < std::min(n_resample_, n_kept_resample); ++i) {
      samples.push_back(statistic(draw(i)));
    }
    return samples;
  };
  Replicates replicates{.observed = statistic(observed()), .left_out = {}, .resampled = resampled};
  for (std::size_t i = 0; i < n_left_out(); ++i) {
    replicates.left_out.push_back(statistic(without(i)));
  }
  return estimates(replicates);
}

std::vector<Estimate> Bootstrap::estimates(const Replicates& replicates) const {
  const auto counts = part_counts(n_left_out(), n_resample_, seed_);
  const auto of_value = [](const std::vector<std::vector<double>>& replicates_of_all,
                           std::size_t j) {
    std::vector<double> values;
    for (const std::vector<double>& all : replicates_of_all) values.push_back(all[j]);
    return values;
  };
  std::vector<Estimate> estimates;
  std::vector<std::vector<double>> resampled;  // once a value needs them
  for (std::size_t j = 0; j < replicates.observed.size(); ++j) {
    const double value = replicates.observed[j];
    const auto samples = [&] {
      if (resampled.empty()) resampled = replicates.resampled();
      return of_value(resampled, j);
    };
    estimates.push_back(studentised_estimate(
        value, influences_of(value, of_value(replicates.left_out, j)), counts, samples));
  }
  return estimates;
}

std::vector<Estimate> paired_differences(const std::vector<Estimate>& estimates,
                                         const std::vector<Estimate>& first) {
  constexpr std::size_t n_resample = 1000;
  std::map<std::size_t, std::vector<std::vector<double>>> counts;  // by number of parts
  std::vector<Estimate> differences;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const std::size_t n_part = estimates[i].influences.size();
    if (n_part != first[i].influences.size() ||
        estimates[i].resamples.size() != first[i].resamples.size()) {
      differences.push_back({.value = estimates[i].value - first[i].value});
    } else if (n_part == 0) {
      differences.push_back(resample_difference(estimates[i], first[i]));
    } else {
      std::vector<std::vector<double>>& of_parts = counts[n_part];
      if (of_parts.empty()) of_parts = part_counts(n_part, n_resample, 0);
      differences.push_back(influence_difference(estimates[i], first[i], of_parts));
    }
    differences.back() = with_width(std::move(differences.back()));
  }
  return differences;
}

}  // namespace headscope
