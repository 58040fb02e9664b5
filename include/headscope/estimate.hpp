#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace headscope {

/// Resamples that an estimate keeps.
inline constexpr std::size_t n_kept_resample = 200;

/// A value with its two-sided 95 % interval.
struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  /// Bounds of the interval; NaN where there is none.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  /// Runs on the same units are compared (paired_differences) by influences, which Bootstrap's
  /// intervals have, or by resamples, which others have. Both are empty where there is no interval.
  ///
  /// The value on the first resamples, at most n_kept_resample, in their order.
  std::vector<float> resamples = {};
  /// By part: (number of parts - 1) * (value - value without the part), the jackknife's estimate
  /// of the part's influence on the value (Efron 1992, "Jackknife-After-Bootstrap").
  std::vector<float> influences = {};

  bool has_interval() const { return !std::isnan(low) && !std::isnan(high); }
  /// Whether there is an interval and it has width. One without width shows nothing: units that do
  /// not differ, such as copies of one document, tell nothing of others.
  bool has_width() const { return low < high; }
  /// Whether the interval has width and lies on one side of a threshold.
  bool is_above(double threshold) const { return low > threshold && has_width(); }
  bool is_below(double threshold) const { return high < threshold && has_width(); }
};

/// `value` with the central 95 % of `samples` (linear interpolation between order statistics; NaN
/// ignored). No interval if there is no sample, or `value` is NaN.
Estimate percentile_estimate(double value, std::vector<double> samples);

/// The estimate with its bounds moved into the range of possible values.
Estimate within(Estimate estimate, double least, double most);

/// The estimate without an interval that has no width.
Estimate with_width(Estimate estimate);

/// Half the width of the 95 % interval of a normally distributed value, in standard deviations.
double normal_half_width();

/// Replaces the interval (if any) of a share of independent units by the 95 % score interval, which
/// is wide enough even if all units agree.
/// Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
Estimate with_score_interval(Estimate share, double n_unit);

/// Whether a claim is true of the model that was run.
enum class Verdict { holds, does_not_hold, undecided };

/// The side of the threshold where a claim says its effect lies.
enum class Side { below, at_most, at_least, above };

/// Holds if the whole interval lies on the claimed side, does not hold if it lies entirely on the
/// other side. Undecided otherwise, so also where it only touches the threshold from the other
/// side, and if there is no interval.
Verdict verdict_of(const Estimate& effect, Side side, double threshold);

/// Number of document blocks that intervals resample, so that data kept per block have the same
/// size for any corpus. document_block (headscope/resampling.hpp) assigns them; with at most this
/// many documents, a block holds one document. Even, so that all documents of a block have one
/// parity.
inline constexpr std::size_t n_document_block = 128;

/// Fewest resamples for a 95 % interval: with fewer, the 5 % outside it are less than one resample.
inline constexpr std::size_t least_resamples = 20;

/// Fewest documents for an interval: resamples of fewer vary too little.
inline constexpr std::size_t least_documents = 20;

/// How often a resample contains a unit, by unit: the unit's weight in a statistic.
using BootstrapCounts = std::vector<std::uint32_t>;

/// The sum of the units' values, weighted by how often the resample contains them.
double weighted_sum(const std::vector<double>& values, const BootstrapCounts& counts);

/// Values of several statistics over all units, over resamples of them and without a part of them.
struct Replicates {
  std::vector<double> observed;
  std::vector<std::vector<double>> left_out;  ///< Bootstrap::without: part x value
  /// Returns those of the first n_kept_resample draws: draw x value. Called at most once, and only
  /// if few units decide a value.
  std::function<std::vector<std::vector<double>>()> resampled;
};

/// Units (blocks of documents, or layers, pairs) drawn with replacement, repeatable by the seed
/// (Efron 1979), and intervals of smooth statistics of them, such as means and ratios of sums.
///
/// An interval is the symmetric studentised one: value -+ t * se. se is the jackknife's standard
/// error. Every resample of the jackknife's pseudo-values gives a ratio: the distance of its mean
/// from their overall mean, over the resample's standard error. t is the 95th percentile of the
/// ratios. The interval's error falls with n^-2 (percentiles: n^-1); units of very unequal size
/// widen it.
/// There is no interval if the statistic without some unit is NaN. If over a twentieth of the
/// resamples miss the few units that matter (the one pair that a model gets wrong), t is infinite
/// or of no use (above 10). Then the interval is the bootstrap_estimate (headscope/resampling.hpp)
/// of those draws, which is also for statistics that jump, such as counts of heads.
/// Source: Tukey 1958; Hall 1988, "On Symmetric Bootstrap Confidence Intervals".
class Bootstrap {
 public:
  /// @param n_resample  fewer than `least_resamples` count as 0.
  Bootstrap(std::size_t n_unit, std::size_t n_resample, std::uint64_t seed);
  /// Resamples blocks, given the number of documents in each: documents, where each block holds
  /// one. Empty blocks are never drawn. Fewer than `least_documents` documents are
  /// not resampled.
  static Bootstrap of_documents(const std::vector<double>& documents_per_block,
                                std::size_t n_resample, std::uint64_t seed);

  /// 0 for fewer than two units, whose resamples would all be equal.
  std::size_t n_resample() const { return n_resample_; }
  /// All units: every weight is 1.
  BootstrapCounts observed() const { return BootstrapCounts(n_weight_, 1); }
  /// Resample `index`. Fewer units are drawn than there are (n_drawn): divide by the weights' sum.
  BootstrapCounts draw(std::size_t index) const;
  /// Parts that are left out one at a time: units, or n_document_block groups of more. 0 if nothing
  /// is resampled.
  std::size_t n_left_out() const;
  /// All units but those of part `index`.
  BootstrapCounts without(std::size_t index) const;

  /// Each value of the statistic over all units, with its interval.
  /// @param statistic  returns the same number of values for any weights.
  std::vector<Estimate> estimates(
      const std::function<std::vector<double>(const BootstrapCounts&)>& statistic) const;
  /// The same from values of the statistic.
  std::vector<Estimate> estimates(const Replicates& replicates) const;

 private:
  Bootstrap(std::vector<std::size_t> drawn_from, std::size_t n_weight, std::size_t n_resample,
            std::uint64_t seed);
  /// The part of the unit drawn_from_[place].
  std::size_t part_of(std::size_t place) const;

  std::vector<std::size_t> drawn_from_;
  std::size_t n_weight_;
  std::size_t n_resample_;
  std::uint64_t seed_;
};

/// Estimates less the first ones, of the same values and units under another model. Intervals are
/// studentised as Bootstrap's, from differences of influences; if few parts decide a difference
/// (t above 10), the bootstrap_estimate (headscope/resampling.hpp) of their resampled means. Where
/// both estimates have resamples instead, the central 95 % of the differences. Intervals from
/// influences reach no further than from one estimate's bound to the other's, where both have
/// width. None where one has
/// influences and the other has not, or not of as many parts, and none without width (with_width).
/// @param estimates  as many as `first`.
std::vector<Estimate> paired_differences(const std::vector<Estimate>& estimates,
                                         const std::vector<Estimate>& first);

}  // namespace headscope
