#include "headscope/statistics.hpp"

#include "headscope/error.hpp"

namespace headscope {
namespace {

void check_shape(const std::string& name, const Shape& expected, const Shape& got) {
  if (expected == got) return;
  throw ShapeError("statistic " + name + ": expected shape " + shape_text(expected) + ", got " +
                   shape_text(got));
}

void check_fits(const std::string& name, bool fits) {
  if (fits) return;
  throw Error("statistic " + name +
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
  if (inserted) sum = {shape, ExactSums(element_count(shape), n_word)};
  check_shape(name, sum.shape, shape);
  return sum;
}

Array& Statistics::open_row(const std::string& name, std::uint64_t document, const Shape& shape) {
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

Array Statistics::total(const std::string& name) const {
  const auto found = sums_.find(name);
  if (found == sums_.end()) throw Error("statistics: expected a sum " + name + ", found none");
  const Sum& sum = found->second;
  Array values(sum.shape);
  for (std::size_t i = 0; i < values.size(); ++i) values.values[i] = sum.total.value(i);
  return values;
}

const std::map<std::uint64_t, Array>& Statistics::rows(const std::string& name) const {
  const auto found = rows_.find(name);
  if (found == rows_.end()) throw Error("statistics: expected rows " + name + ", found none");
  return found->second;
}

void Statistics::seal() {
  for (const auto& entry : sums_) sealed_.insert(entry.first);
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
  for (const auto& [name, theirs] : other.sums_) {
    Sum& ours = open_sum(name, theirs.shape, theirs.total.n_word());
    check_fits(name, ours.total.add(theirs.total));
  }
  for (const auto& [name, theirs] : other.rows_) {
    check_open(name);
    rows_[name].insert(theirs.begin(), theirs.end());
  }
}

Array& DocumentStatistics::sum(const std::string& name, const Shape& shape) {
  statistics_.open_sum(name, shape, ExactSums::fine);
  const auto [place, inserted] = parts_.try_emplace(name);
  if (inserted) place->second = Array(shape);
  return place->second;
}

void DocumentStatistics::add(const std::string& name, const Shape& shape, std::size_t first,
                             std::span<const float> values) {
  Statistics::Sum& sum = statistics_.open_sum(name, shape, ExactSums::coarse);
  check_fits(name, sum.total.add(values, first));
}

Array& DocumentStatistics::row(const std::string& name, const Shape& shape) {
  return statistics_.open_row(name, document_, shape);
}

void DocumentStatistics::end() {
  for (const auto& [name, part] : parts_) {
    ExactSums& total = statistics_.sums_.at(name).total;
    check_fits(name, total.add(std::span<const double>(part.values)));
  }
  parts_.clear();
}

}  // namespace headscope
