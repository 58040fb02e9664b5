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

/// What an analysis keeps of the documents it has seen: named sums; rows, one per document, all of
/// one shape; records, one per document, of any shape; and texts of a document.
///
/// Documents are added with DocumentStatistics, a piece at a time. Sums are exact (ExactSums):
/// statistics of parts of a corpus, run in any order and merged, equal those of the whole corpus
/// bit for bit.
///
/// An analysis with several passes over the corpus uses different names in each; `seal` ends a
/// pass.
class Statistics {
 public:
  /// Whether there is a sum of that name, or some document has a row, a record or texts of it.
  bool has(const std::string& name) const;
  /// Whether the document has a record or texts of that name.
  bool has(const std::string& name, std::uint64_t document) const;
  /// Names of all sums, sorted; for sums whose names come from the data, such as one per relation.
  std::vector<std::string> sum_names() const;
  /// A sum over all documents, rounded to double. Recomputed on each call.
  /// @throws Error if there is no sum of that name.
  Array total(const std::string& name) const;
  /// @throws Error if there are no rows of that name.
  const std::map<std::uint64_t, Array>& rows(const std::string& name) const;
  /// @throws Error if the document has no record, or no texts, of that name.
  const Array& record(const std::string& name, std::uint64_t document) const;
  const std::vector<std::string>& texts(const std::string& name, std::uint64_t document) const;

  /// Ends a pass: everything present becomes read-only, and `save_statistics` leaves it out.
  void seal();

  /// Adds the sums of `other` and takes over its rows, records and texts. What this object lacks is
  /// moved, not copied.
  /// @throws ShapeError on different shapes, Error on a document that is in both.
  void merge(Statistics other);

  /// Upper bounds on bytes per element: of a sum (piece's part, total, rounded total), of a sum
  /// added to directly, and of a row or record.
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

  template <typename Value>
  using ByDocument = std::map<std::string, std::map<std::uint64_t, Value>>;

  std::map<std::string, Sum> sums_;
  ByDocument<Array> rows_, records_;
  ByDocument<std::vector<std::string>> texts_;
  std::set<std::string> sealed_;
};

/// What one piece of a document adds to statistics. Its part of each sum is first added up
/// separately in double, so it does not depend on earlier pieces. Its document's rows are shared by
/// all pieces, which follow each other in order.
class DocumentStatistics {
 public:
  /// @param statistics  must outlive it.
  DocumentStatistics(Statistics& statistics, std::uint64_t document)
      : statistics_(statistics), document_(document) {}

  /// The piece's part of the sum `name`, zero at first; add into it. The reference is valid
  /// until `end`.
  /// @throws ShapeError if the sum has another shape, Error if it is sealed.
  Array& sum(const std::string& name, const Shape& shape);

  /// Adds values to the total of the sum `name` directly, to its elements from `first` on: for sums
  /// so large that a piece's part would take too much memory. Such sums are exact to 2^-70.
  /// @throws ShapeError if the sum has another shape, Error if it is sealed, or too large.
  void add(const std::string& name, const Shape& shape, std::size_t first,
           std::span<const float> values);
  void add(const std::string& name, const Shape& shape, std::size_t first,
           std::span<const double> values);

  /// The document's row in `name`, zero at its first piece; add into it.
  /// @throws ShapeError if other rows have another shape, Error if the rows are sealed.
  Array& row(const std::string& name, const Shape& shape);

  /// The document's record `name`, zero at first; set it or add into it.
  /// @throws ShapeError if the record has another shape, Error if it is sealed.
  Array& record(const std::string& name, const Shape& shape);

  /// The document's texts `name`, of any bytes; none at first. @throws Error if they are sealed.
  std::vector<std::string>& texts(const std::string& name);

  /// Adds the piece's parts to the totals.
  /// @throws Error naming a sum that is infinite or too large.
  void end();

 private:
  Statistics& statistics_;
  std::uint64_t document_;
  std::map<std::string, Array> parts_;
};

/// Two-sided p-value for the hypothesis that the mean difference is 0, by a t-test of n paired
/// differences: t = mean / (standard deviation / sqrt(n)), n - 1 degrees of freedom. 1 if all
/// differences are 0, 0 if all are the same other number, NaN for fewer than two. Source: Student
/// 1908.
double paired_t_p(double n, double sum, double sum_of_squares);

/// Benjamini-Hochberg adjusted p-values (q-values), in the order given. NaN stays NaN and does not
/// count as a test. Source: Benjamini & Hochberg 1995.
std::vector<double> benjamini_hochberg(const std::vector<double>& p);

/// Spearman's rank correlation with average ranks for ties; NaN with fewer than two distinct
/// values, or with a NaN among them. @throws ShapeError if the lengths differ.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace headscope
