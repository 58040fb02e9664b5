#include "headscope/statistics.hpp"

#include "headscope/error.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

void check_shape(const std::string& name, const Shape& expected, const Shape& got) {
  if (expected == got) return;
  throw ShapeError("statistic " + name + ": expected shape " + shape_text(expected) + ", got " +
                   shape_text(got));
}

Array& zero_on_first_use(std::map<std::string, Array>::iterator place, bool inserted,
                         const Shape& shape) {
  if (inserted) place->second = Array(shape);
  check_shape(place->first, place->second.shape, shape);
  return place->second;
}

}  // namespace

Array& Statistics::sum(const std::string& name, const Shape& shape) {
  const auto [place, inserted] = sums_.try_emplace(name);
  return zero_on_first_use(place, inserted, shape);
}

Array& Statistics::row(const std::string& name, std::uint64_t document, const Shape& shape) {
  auto& rows = rows_[name];
  if (!rows.empty()) check_shape(name, rows.begin()->second.shape, shape);
  const auto [place, inserted] = rows.try_emplace(document);
  if (inserted) place->second = Array(shape);
  return place->second;
}

bool Statistics::has(const std::string& name) const {
  return sums_.contains(name) || rows_.contains(name);
}

const Array& Statistics::sum(const std::string& name) const {
  const auto found = sums_.find(name);
  if (found == sums_.end()) throw Error("statistics: expected a sum " + name + ", found none");
  return found->second;
}

const std::map<std::uint64_t, Array>& Statistics::rows(const std::string& name) const {
  const auto found = rows_.find(name);
  if (found == rows_.end()) throw Error("statistics: expected rows " + name + ", found none");
  return found->second;
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
    Array& ours = sum(name, theirs.shape);
    for (std::size_t i = 0; i < ours.size(); ++i) ours.values[i] += theirs.values[i];
  }
  for (const auto& [name, theirs] : other.rows_) {
    rows_[name].insert(theirs.begin(), theirs.end());
  }
}

DocumentBootstrap::DocumentBootstrap(std::size_t n_document, std::size_t n_resample,
                                     std::uint64_t seed)
    : n_document_(n_document), n_resample_(n_document < 2 ? 0 : n_resample), seed_(seed) {}

std::vector<std::uint32_t> DocumentBootstrap::draw(std::size_t index) const {
  const CounterRandom random(seed_, index);
  std::vector<std::uint32_t> weights(n_document_, 0);
  for (std::size_t i = 0; i < n_document_; ++i) ++weights[random.below(n_document_, i)];
  return weights;
}

}  // namespace headscope
