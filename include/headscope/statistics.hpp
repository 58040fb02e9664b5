#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/exact_sum.hpp"

namespace headscope {

/// What an analysis keeps of the documents it has seen: named sums, and rows keyed by document.
///
/// Documents are added with DocumentStatistics. Sums are exact (ExactSums): statistics of parts of
/// a corpus, run in any order and merged, equal those of the whole corpus bit for bit.
///
/// An analysis that sees the corpus several times uses other names in each pass; `seal` marks where
/// a pass ends.
class Statistics {
 public:
  bool has(const std::string& name) const;
  /// Names of all sums, sorted: for sums named after what is in the data, such as one per relation.
  std::vector<std::string> sum_names() const;
  /// A sum over all documents, rounded to double. Each call computes it anew.
  /// @throws Error if there is no sum of that name.
  Array total(const std::string& name) const;
  /// @throws Error if there are no rows of that name.
  const std::map<std::uint64_t, Array>& rows(const std::string& name) const;

  /// Ends a pass: the sums and rows of now can be read, but nothing can be added to them, and
  /// `save_statistics` leaves them out.
  void seal();

  /// Adds the sums of `other` and takes over its rows.
  /// @throws ShapeError on different shapes, Error on a document that is in both.
  void merge(const Statistics& other);

  /// Most bytes per element: of a sum (the document's part, the total, the total rounded), of a sum
  /// added to directly, and of a row.
  static constexpr std::uint64_t sum_bytes = 8 + 8 * ExactSums::fine + 8,
                                 added_bytes = 8 * ExactSums::coarse + 8, row_bytes = 8;

 private:
  friend class DocumentStatistics;
  friend class StatisticsStorage;

  struct Sum {
    Shape shape;
    ExactSums total;
  };

  void check_open(const std::string& name) const;
  Sum& open_sum(const std::string& name, const Shape& shape, std::size_t n_word);
  Array& open_row(const std::string& name, std::uint64_t document, const Shape& shape);

  std::map<std::string, Sum> sums_;
  std::map<std::string, std::map<std::uint64_t, Array>> rows_;
  std::set<std::string> sealed_;
};

/// What one document adds to statistics. Its part of each sum is first added up in double by
/// itself, so that it is the same whichever documents come before it.
class DocumentStatistics {
 public:
  /// @param statistics  must outlive it.
  DocumentStatistics(Statistics& statistics, std::uint64_t document)
      : statistics_(statistics), document_(document) {}

  /// The document's part of the sum `name`, zero at first; add into it. The reference is valid
  /// until `end`.
  /// @throws ShapeError if the sum has another shape, Error if it is sealed.
  Array& sum(const std::string& name, const Shape& shape);

  /// Adds values to the total of the sum `name` directly, to its elements from `first` on: for sums
  /// so large that a document's part would take too much memory. Such sums are exact to 2^-70.
  /// @throws ShapeError if the sum has another shape, Error if it is sealed, or too large.
  void add(const std::string& name, const Shape& shape, std::size_t first,
           std::span<const float> values);

  /// The document's row in `name`, zero at first.
  /// @throws ShapeError if other rows have another shape, Error if the rows are sealed.
  Array& row(const std::string& name, const Shape& shape);

  /// Adds the document's parts to the totals.
  /// @throws Error naming a sum that is infinite or too large.
  void end();

 private:
  Statistics& statistics_;
  std::uint64_t document_;
  std::map<std::string, Array> parts_;
};

/// Blocks of documents that intervals are resampled over, a document's number modulo this: what is
/// kept for them stays the same for any corpus, and with at most this many documents each has a
/// block of its own. Even, so that a block holds documents of one parity.
inline constexpr std::size_t n_document_block = 128;

/// A two-sided interval.
struct Interval {
  double low = 0;
  double high = 0;
};

/// Resamples below which there is no 95 % interval: of fewer than 20, the 5 % left outside are less
/// than one, and the interval of a single one is a point.
inline constexpr std::size_t least_resamples = 20;

/// Resamples of documents, drawn with replacement, repeatable from the seed: `draw(i)` gives the
/// weights of resample i. A statistic of each, `n_resample()` in all, makes a percentile interval;
/// statistics taken under the same draws are paired.
class DocumentBootstrap {
 public:
  /// @param n_resample  as asked for; fewer than `least_resamples` are none.
  DocumentBootstrap(std::size_t n_document, std::size_t n_resample, std::uint64_t seed);

  /// How many to draw. None of fewer than two documents: all would be the same, and their interval
  /// a point.
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
