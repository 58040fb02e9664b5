#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/exact_sum.hpp"

namespace headscope {

/// What an analysis keeps while documents go by: named arrays that add up, and rows keyed by
/// document.
///
/// Sums are exact (ExactSums): parts of a corpus run apart, in any order, resumed or not, and
/// merged equal the whole to the last bit. For that a document's own part is added up in double,
/// the same wherever the document is run, and `end_document` adds it to the total.
///
/// An analysis that sees the corpus several times gives its arrays names of their own in each pass;
/// `seal` marks where a pass ends.
class Statistics {
 public:
  /// The current document's part of the sum `name`; add into it. The sum is made zero with `shape`
  /// on first use, and what is returned stays where it is.
  /// @throws ShapeError if it exists with another shape, Error if it is sealed.
  Array& sum(const std::string& name, const Shape& shape);

  /// Adds values to the elements of the sum `name` from `first` on, keeping no part of the
  /// document's: for sums too large to be held twice. They are kept to 2^-70.
  void add(const std::string& name, const Shape& shape, std::size_t first,
           std::span<const float> values);

  /// The row of `document` in `name`, made zero with `shape` on first use: for paired resampling
  /// over documents.
  Array& row(const std::string& name, std::uint64_t document, const Shape& shape);

  bool has(const std::string& name) const;
  /// Names of all sums, sorted: for sums whose names come from the data, such as one per relation.
  std::vector<std::string> sum_names() const;
  /// All that was added, valid until more is. Not for several threads at once.
  /// @throws Error if there is none of that name.
  const Array& sum(const std::string& name) const;
  const std::map<std::uint64_t, Array>& rows(const std::string& name) const;

  /// Adds the current document's part to every sum.
  /// @throws Error naming a sum that is infinite or too large.
  void end_document();

  /// Ends a pass: what is here can be read, but is added to no more, and `save_statistics` leaves
  /// it out.
  void seal();

  /// Bytes that an element takes at most: of a sum given out (the document's part, the total, the
  /// total rounded), of one added to, and of a row.
  static constexpr std::uint64_t sum_bytes = 8 + 8 * ExactSums::fine + 8,
                                 added_bytes = 8 * ExactSums::coarse + 8, row_bytes = 8;

  /// Adds sums, unites rows. @throws ShapeError on different shapes, Error on a document counted
  /// twice.
  void merge(const Statistics& other);

 private:
  friend class StatisticsStorage;

  struct Sum {
    Shape shape;
    Array of_document;  ///< what `sum(name, shape)` gave out; empty before
    ExactSums total;
    std::optional<Array> value;  ///< of `total`, once asked for
  };

  void check_open(const std::string& name) const;
  Sum& open_sum(const std::string& name, const Shape& shape, std::size_t n_word);
  static void add_document(const std::string& name, Sum& sum);

  mutable std::map<std::string, Sum> sums_;
  std::map<std::string, std::map<std::uint64_t, Array>> rows_;
  std::set<std::string> sealed_;
};

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
