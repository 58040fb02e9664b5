#include "report/head_variables.hpp"

#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "headscope/types.hpp"
#include "results/slices.hpp"

namespace headscope {

std::size_t n_head_slice(const ResultsGroup& group, const Variable& variable,
                         const HeadShape& shape) {
  const auto has_axis = [&](const char* name, std::size_t size) {
    const auto found = group.dimensions.find(name);
    return std::ranges::count(variable.dimensions, name) > 0 && found != group.dimensions.end() &&
           found->second.size() == size;
  };
  const bool is_by_head = variable.type != Variable::Type::text &&
                          has_axis("layer", shape.n_layer) && has_axis("head", shape.n_head);
  return is_by_head ? variable.values.size() / shape.n_head_total() : 0;
}

std::vector<HeadSlice> head_slices(const ResultsGroup& group, const Variable& variable,
                                   const HeadShape& shape, std::size_t most_slices) {
  const std::size_t n_slice = n_head_slice(group, variable, shape);
  if (n_slice == 0 || n_slice > most_slices) return {};
  std::vector<HeadSlice> found;
  for (const Slice& slice : slices(group, variable, {"layer", "head"})) {
    HeadSlice& head_slice = found.emplace_back(HeadSlice{slice.label, {}, {}, {}});
    for (const std::size_t i : slice.at) {
      const Estimate estimate = variable.estimate(i);
      head_slice.values.push_back(estimate.value);
      if (!variable.interval) continue;
      head_slice.low.push_back(estimate.low);
      head_slice.high.push_back(estimate.high);
    }
  }
  return found;
}

bool has_number(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

std::string shown_label(const std::vector<Presentation>& presentations, const ResultsGroup& group,
                        const std::string& label) {
  const auto found = std::ranges::find(presentations, group.name, &Presentation::group);
  return found != presentations.end() && found->label_words ? found->label_words(group, label)
                                                            : label;
}

std::vector<std::string> dimension_labels(const ResultsGroup& group, const std::string& name) {
  const auto found = group.dimensions.find(name);
  if (found == group.dimensions.end()) return {};
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < found->second.size(); ++i) {
    labels.push_back(found->second.label(i, 4));
  }
  return labels;
}

}  // namespace headscope
