#include "headscope/statistics.hpp"

#include <ranges>

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
              ": expected sums below 2^57 of values below 2^55, got a larger one or infinity; "
              "the model's weights may be damaged");
}

/// What a document has of a name. @param kind  of what is looked for, in words.
template <typename Value>
const Value& value_of(const std::map<std::string, std::map<std::uint64_t, Value>>& values,
                      const std::string& name, std::uint64_t document, const std::string& kind) {
  const auto named = values.find(name);
  if (named != values.end()) {
    const auto found = named->second.find(document);
    if (found != named->second.end()) return found->second;
  }
  throw Error("statistics: expected " + kind + " " + name + " of document " +
              std::to_string(document) + ", found none");
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

bool Statistics::has(const std::string& name) const {
  return sums_.contains(name) || rows_.contains(name) || records_.contains(name) ||
         texts_.contains(name);
}

bool Statistics::has(const std::string& name, std::uint64_t document) const {
  const auto records = records_.find(name);
  const auto texts = texts_.find(name);
  return (records != records_.end() && records->second.contains(document)) ||
         (texts != texts_.end() && texts->second.contains(document));
}

std::vector<std::string> Statistics::sum_names() const {
  const auto names = std::views::keys(sums_);
  return {names.begin(), names.end()};
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

const Array& Statistics::record(const std::string& name, std::uint64_t document) const {
  return value_of(records_, name, document, "a record");
}

const std::vector<std::string>& Statistics::texts(const std::string& name,
                                                  std::uint64_t document) const {
  return value_of(texts_, name, document, "texts");
}

void Statistics::seal() {
  const auto seal_names = [&](const auto& named) {
    for (const auto& entry : named) sealed_.insert(entry.first);
  };
  seal_names(sums_);
  seal_names(rows_);
  seal_names(records_);
  seal_names(texts_);
}

void Statistics::merge(Statistics other) {
  for (const auto& [name, sum] : other.sums_) {
    const auto found = sums_.find(name);
    if (found != sums_.end()) check_shape(name, found->second.shape, sum.shape);
  }
  for (const auto& [name, by_document] : other.rows_) {
    const auto found = rows_.find(name);
    if (found == rows_.end() || found->second.empty()) continue;
    for (const auto& entry : by_document) {
      check_shape(name, found->second.begin()->second.shape, entry.second.shape);
    }
  }
  const auto check_apart = [](const auto& kept, const auto& added) {
    for (const auto& [name, by_document] : added) {
      const auto found = kept.find(name);
      for (const auto& entry : by_document) {
        if (found == kept.end() || !found->second.contains(entry.first)) continue;
        throw Error("statistic " + name + ": expected each document once, got document " +
                    std::to_string(entry.first) + " twice");
      }
    }
  };
  check_apart(rows_, other.rows_);
  check_apart(records_, other.records_);
  check_apart(texts_, other.texts_);
  for (const auto& entry : other.sums_) check_open(entry.first);
  sums_.merge(other.sums_);
  // Sums of names that both have are left in `other`.
  while (!other.sums_.empty()) {
    const auto sum = other.sums_.extract(other.sums_.begin());
    const std::string& name = sum.key();
    check_fits(name, sums_.at(name).total.add(sum.mapped().total));
  }
  const auto take_over = [&](auto& kept, auto& added) {
    for (auto& [name, by_document] : added) {
      check_open(name);
      kept[name].merge(by_document);
    }
  };
  take_over(rows_, other.rows_);
  take_over(records_, other.records_);
  take_over(texts_, other.texts_);
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

void DocumentStatistics::add(const std::string& name, const Shape& shape, std::size_t first,
                             std::span<const double> values) {
  Statistics::Sum& sum = statistics_.open_sum(name, shape, ExactSums::coarse);
  check_fits(name, sum.total.add(values, first));
}

Array& DocumentStatistics::row(const std::string& name, const Shape& shape) {
  statistics_.check_open(name);
  auto& rows = statistics_.rows_[name];
  if (!rows.empty()) check_shape(name, rows.begin()->second.shape, shape);
  const auto [place, inserted] = rows.try_emplace(document_);
  if (inserted) place->second = Array(shape);
  return place->second;
}

Array& DocumentStatistics::record(const std::string& name, const Shape& shape) {
  statistics_.check_open(name);
  const auto [place, inserted] = statistics_.records_[name].try_emplace(document_);
  if (inserted) place->second = Array(shape);
  check_shape(name, place->second.shape, shape);
  return place->second;
}

std::vector<std::string>& DocumentStatistics::texts(const std::string& name) {
  statistics_.check_open(name);
  return statistics_.texts_[name][document_];
}

void DocumentStatistics::end() {
  for (const auto& [name, part] : parts_) {
    ExactSums& total = statistics_.sums_.at(name).total;
    check_fits(name, total.add(std::span<const double>(part.values)));
  }
  parts_.clear();
}

}  // namespace headscope
