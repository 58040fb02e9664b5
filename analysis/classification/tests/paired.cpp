#include "classification/tests/paired.hpp"

#include <algorithm>

namespace headscope {
namespace {

std::string sum_name(const char* sum, const std::string& test) {
  return std::string("paired_") + sum + "." + test;
}

}  // namespace

void PairedCounts::add_to(DocumentStatistics& statistics, const std::string& test) const {
  if (n_case_ == 0) return;
  Array& size = statistics.sum(sum_name("size", test), {2});
  ++size(0);
  size(1) += n_case_;
  std::vector<double> hits = rule_hits_;
  hits.insert(hits.end(), head_hits_.begin(), head_hits_.end());
  Array& sum = statistics.sum(sum_name("sum", test), {hits.size()});
  Array& squares = statistics.sum(sum_name("sum_of_squares", test), {hits.size()});
  for (Index i = 0; i < hits.size(); ++i) {
    sum(i) += hits[i];
    squares(i) += hits[i] * hits[i];
  }
  const Index n_head_total = head_hits_.size();
  std::vector<double> products(n_head_total);
  for (Index rule = 0; rule < rule_hits_.size(); ++rule) {
    if (rule_hits_[rule] == 0) continue;
    std::ranges::transform(head_hits_, products.begin(),
                           [&](double head_hits) { return rule_hits_[rule] * head_hits; });
    statistics.add(sum_name("products", test), {rule_hits_.size(), n_head_total},
                   rule * n_head_total, products);
  }
}

PairedSums::PairedSums(const Statistics& statistics, const std::string& test, Index n_rule)
    : n_rule_(n_rule) {
  if (!statistics.has(sum_name("size", test))) return;
  const Array size = statistics.total(sum_name("size", test));
  n_document_ = size(0);
  n_case_ = size(1);
  sum_ = statistics.total(sum_name("sum", test));
  sum_of_squares_ = statistics.total(sum_name("sum_of_squares", test));
  if (statistics.has(sum_name("products", test))) {
    products_ = statistics.total(sum_name("products", test));
  }
}

double PairedSums::p(Index head_index, Index rule) const {
  if (n_document_ < 2) return arma::datum::nan;
  const double product = products_.size() > 0 ? products_(rule, head_index) : 0,
               sum = sum_(n_rule_ + head_index) - sum_(rule),
               squares =
                   sum_of_squares_(n_rule_ + head_index) - 2 * product + sum_of_squares_(rule);
  if (!(squares > 0)) return 1;
  const double two_sided = paired_t_p(n_document_, sum, squares);
  return sum > 0 ? two_sided / 2 : 1 - two_sided / 2;
}

std::uint64_t paired_bytes(std::uint64_t n_rule, std::uint64_t n_head_total) {
  return (2 + 2 * (n_rule + n_head_total)) * Statistics::sum_bytes +
         n_rule * n_head_total * Statistics::added_bytes;
}

}  // namespace headscope
