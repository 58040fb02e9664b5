#include "headscope/estimate.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "headscope/random.hpp"

namespace headscope {
namespace {

std::vector<std::size_t> every_index(std::size_t n) {
  std::vector<std::size_t> indices(n);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

}  // namespace

Estimate percentile_estimate(double value, std::vector<double> samples) {
  std::erase_if(samples, [](double sample) { return std::isnan(sample); });
  if (samples.empty() || std::isnan(value)) return {.value = value};
  constexpr double coverage = 0.95;
  std::sort(samples.begin(), samples.end());
  const auto quantile = [&](double share) {
    const double position = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    return std::lerp(samples[below], samples[above], position - static_cast<double>(below));
  };
  return {value, quantile((1 - coverage) / 2), quantile((1 + coverage) / 2)};
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

Weights Bootstrap::draw(std::size_t index) const {
  const CounterRandom random(seed_, index);
  Weights weights(n_weight_, 0);
  for (std::size_t i = 0; i < drawn_from_.size(); ++i) {
    ++weights[drawn_from_[random.below(drawn_from_.size(), i)]];
  }
  return weights;
}

std::vector<Estimate> Bootstrap::estimates(
    const std::function<std::vector<double>(const Weights&)>& statistic) const {
  const std::vector<double> values = statistic(whole());
  std::vector<std::vector<double>> samples(values.size());
  for (std::size_t i = 0; i < n_resample_; ++i) {
    const std::vector<double> resampled = statistic(draw(i));
    for (std::size_t j = 0; j < values.size(); ++j) samples[j].push_back(resampled[j]);
  }
  std::vector<Estimate> estimates;
  for (std::size_t j = 0; j < values.size(); ++j) {
    estimates.push_back(percentile_estimate(values[j], std::move(samples[j])));
  }
  return estimates;
}

}  // namespace headscope
