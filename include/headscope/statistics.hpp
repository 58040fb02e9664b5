#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "headscope/array.hpp"

namespace headscope {

/// What an analysis keeps while documents go by: named arrays that add up, and rows keyed by
/// document.
///
/// Two halves of a corpus run apart and merged equal the whole; a killed run resumes from the last
/// saved file.
class Statistics {
 public:
  /// The running sum `name`, made zero with `shape` on first use; add into it.
  /// @throws ShapeError if it exists with another shape.
  Array& sum(const std::string& name, const Shape& shape);

  /// The row of `document` in `name`, made zero with `shape` on first use: for paired resampling
  /// over documents.
  Array& row(const std::string& name, std::uint64_t document, const Shape& shape);

  bool has(const std::string& name) const;
  /// Names of all sums, sorted: for sums whose names come from the data, such as one per relation.
  std::vector<std::string> sum_names() const {
    std::vector<std::string> names;
    for (const auto& entry : sums_) names.push_back(entry.first);
    return names;
  }
  /// @throws Error if there is none of that name.
  const Array& sum(const std::string& name) const;
  const std::map<std::uint64_t, Array>& rows(const std::string& name) const;

  /// Adds sums, unites rows. @throws ShapeError on different shapes, Error on a document counted
  /// twice.
  void merge(const Statistics& other);

  /// Writes and reads an HDF5 file whose bytes are checked (Fletcher32); the file appears only when
  /// whole.
  void save(const std::string& path) const;
  static Statistics load(const std::string& path);

 private:
  std::map<std::string, Array> sums_;
  std::map<std::string, std::map<std::uint64_t, Array>> rows_;
};

/// A two-sided interval.
struct Interval {
  double low = 0;
  double high = 0;
};

/// Percentile bootstrap over documents, repeatable from its seed.
///
/// Calls `statistic(weights)` with the number of times each document was drawn; every call of the
/// same run sees the same draws, so differences of two statistics are paired.
class DocumentBootstrap {
 public:
  DocumentBootstrap(std::size_t n_document, std::size_t n_resample = 1000,
                    std::uint64_t seed = 20240229);

  /// None of fewer than two documents: all would be the same, and their interval a point.
  std::size_t n_resample() const { return n_resample_; }
  /// How often each document was drawn in resample `index`.
  std::vector<std::uint32_t> draw(std::size_t index) const;

 private:
  std::size_t n_document_;
  std::size_t n_resample_;
  std::uint64_t seed_;
};

/// The central 95 % of the values that are not NaN (linear interpolation between order statistics);
/// NaN when there are none.
Interval percentile_interval(std::vector<double> values, double coverage = 0.95);

/// P(X >= successes), X ~ Binomial(trials, probability): one-sided, exact to rounding.
/// @throws Error if the probability is outside [0, 1].
double binomial_upper_tail(std::uint64_t successes, std::uint64_t trials, double probability);

/// Benjamini-Hochberg adjusted p-values (q-values), in the order given. NaN stays NaN and does not
/// count as a test. Source: Benjamini & Hochberg 1995.
std::vector<double> benjamini_hochberg(const std::vector<double>& p);

/// Spearman's rank correlation with average ranks for ties; NaN with fewer than two distinct
/// values, or with a NaN among them. @throws ShapeError if the lengths differ.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

/// Pearson's correlation; NaN where either side is constant or holds a NaN.
double pearson(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace headscope
