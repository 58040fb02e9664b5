#include "headscope/statistics.hpp"

#include <algorithm>

#include "headscope/error.hpp"

namespace headscope {
namespace {

void check_shape(const std::string& name, const Shape& expected, const Shape& got) {
  if (expected == got) return;
  throw ShapeError("statistic " + name + ": expected shape " + shape_text(expected) + ", got " +
                   shape_text(got));
}

bool is_zero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

Array values_of(const ExactSums& sums, const Shape& shape) {
  Array values(shape);
  for (std::size_t i = 0; i < values.size(); ++i) values.values[i] = sums.value(i);
  return values;
}

Error too_large(const std::string& name) {
  return Error("statistic " + name +
               ": expected sums below 2^57 of values below 2^55, got a larger one or infinity");
}

}  // namespace

void Statistics::check_open(const std::string& name) const {
  if (!sealed_.contains(name)) return;
  throw Error("statistic " + name + ": expected a name of this pass's own, got one of an earlier");
}

Statistics::Sum& Statistics::open_sum(const std::string& name, const Shape& shape,
                                      std::size_t n_word) {
  check_open(name);
  const auto [place, inserted] = sums_.try_emplace(name);
  Sum& sum = place->second;
  if (inserted) {
    sum.shape = shape;
    sum.total = ExactSums(element_count(shape), n_word);
  }
  check_shape(name, sum.shape, shape);
  return sum;
}

Array& Statistics::sum(const std::string& name, const Shape& shape) {
  Sum& sum = open_sum(name, shape, ExactSums::fine);
  if (sum.of_document.shape != shape || sum.of_document.size() != sum.total.size()) {
    sum.of_document = Array(shape);
  }
  return sum.of_document;
}

void Statistics::add(const std::string& name, const Shape& shape, std::size_t first,
                     std::span<const float> values) {
  Sum& sum = open_sum(name, shape, ExactSums::coarse);
  sum.value.reset();
  if (!sum.total.add(values, first)) throw too_large(name);
}

Array& Statistics::row(const std::string& name, std::uint64_t document, const Shape& shape) {
  check_open(name);
  auto& rows = rows_[name];
  if (!rows.empty()) check_shape(name, rows.begin()->second.shape, shape);
  const auto [place, inserted] = rows.try_emplace(document);
  if (inserted) place->second = Array(shape);
  return place->second;
}

bool Statistics::has(const std::string& name) const {
  return sums_.contains(name) || rows_.contains(name);
}

std::vector<std::string> Statistics::sum_names() const {
  std::vector<std::string> names;
  for (const auto& entry : sums_) names.push_back(entry.first);
  return names;
}

const Array& Statistics::sum(const std::string& name) const {
  const auto found = sums_.find(name);
  if (found == sums_.end()) throw Error("statistics: expected a sum " + name + ", found none");
  Sum& sum = found->second;
  const std::vector<double>& part = sum.of_document.values;
  // Whoever holds the document's part may have changed it since the value was made.
  if (sum.value && part.empty()) return *sum.value;
  if (is_zero(part)) {
    sum.value = values_of(sum.total, sum.shape);
  } else {
    ExactSums whole = sum.total;
    if (!whole.add(std::span<const double>(part))) throw too_large(name);
    sum.value = values_of(whole, sum.shape);
  }
  return *sum.value;
}

const std::map<std::uint64_t, Array>& Statistics::rows(const std::string& name) const {
  const auto found = rows_.find(name);
  if (found == rows_.end()) throw Error("statistics: expected rows " + name + ", found none");
  return found->second;
}

void Statistics::add_document(const std::string& name, Sum& sum) {
  std::vector<double>& part = sum.of_document.values;
  if (is_zero(part)) return;
  sum.value.reset();
  const bool fits = sum.total.add(std::span<const double>(part));
  std::fill(part.begin(), part.end(), 0);
  if (!fits) throw too_large(name);
}

void Statistics::end_document() {
  for (auto& [name, sum] : sums_) add_document(name, sum);
}

void Statistics::seal() {
  end_document();
  for (auto& [name, sum] : sums_) {
    sum.of_document = Array();
    sum.value.reset();
    sealed_.insert(name);
  }
  for (const auto& entry : rows_) sealed_.insert(entry.first);
}

void Statistics::merge(const Statistics& other) {
  for (const auto& [name, theirs] : other.sums_) {
    const auto ours = sums_.find(name);
    if (ours != sums_.end()) check_shape(name, ours->second.shape, theirs.shape);
  }
  for (const auto& [name, theirs] : other.rows_) {
    const auto ours = rows_.find(name);
    if (ours == rows_.end() || ours->second.empty()) continue;
    for (const auto& [document, row] : theirs) {
      check_shape(name, ours->second.begin()->second.shape, row.shape);
      if (ours->second.contains(document)) {
        throw Error("statistic " + name + ": expected each document once, got document " +
                    std::to_string(document) + " twice");
      }
    }
  }
  for (auto& [name, theirs] : other.sums_) {
    add_document(name, theirs);
    Sum& ours = open_sum(name, theirs.shape, theirs.total.n_word());
    ours.value.reset();
    if (!ours.total.add(theirs.total)) throw too_large(name);
  }
  for (const auto& [name, theirs] : other.rows_) {
    check_open(name);
    rows_[name].insert(theirs.begin(), theirs.end());
  }
}

}  // namespace headscope
