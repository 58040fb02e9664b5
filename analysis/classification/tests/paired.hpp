#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headscope/statistics.hpp"
#include "scores/pattern.hpp"

/// Sums from which heads are compared with simple rules by a paired t-test over documents.
///
/// A test has cases: the arcs of a relation, or pronouns. In every document each head and each rule
/// (a fixed offset, the nearest mention) is right in some of them. The test is of the mean over
/// documents of the head's number minus the rule's. The rule is chosen at the end, so the products
/// of every head's number with every rule's are kept: n_rule x n_head_total sums, however many
/// documents.
namespace headscope {

/// What one document, all its pieces together, adds to a test.
class PairedCounts {
 public:
  PairedCounts(Index n_rule, Index n_head_total)
      : rule_hits_(n_rule, 0), head_hits_(n_head_total, 0) {}

  void add_case() { ++n_case_; }
  void add_rule_hit(Index rule) { ++rule_hits_[rule]; }
  void add_head_hits(Index head_index, double n) { head_hits_[head_index] += n; }

  /// Adds the document to the sums of a test, unless it has no case.
  void add_to(DocumentStatistics& statistics, const std::string& test) const;

 private:
  double n_case_ = 0;
  std::vector<double> rule_hits_, head_hits_;
};

/// The sums of a test over all documents that have a case.
class PairedSums {
 public:
  /// Of a test without documents: n_document is 0.
  PairedSums(const Statistics& statistics, const std::string& test, Index n_rule);

  double n_document() const { return n_document_; }
  double n_case() const { return n_case_; }

  /// One-sided p-value for the hypothesis that the head has on average at most as many hits as the
  /// rule; NaN for fewer than two documents. 1 if head and rule have the same number in every
  /// document.
  double p(Index head_index, Index rule) const;

 private:
  double n_document_ = 0, n_case_ = 0;
  Index n_rule_;
  Array sum_, sum_of_squares_;  // by rule, then by head
  Array products_;              // rule x head_index; empty if no rule was ever right
};

/// Upper bound of the bytes of one test's sums.
std::uint64_t paired_bytes(std::uint64_t n_rule, std::uint64_t n_head_total);

}  // namespace headscope
