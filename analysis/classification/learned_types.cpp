#include <algorithm>
#include <cmath>
#include <functional>

#include "base/number_text.hpp"
#include "classification/results.hpp"
#include "headscope/head_types.hpp"

namespace headscope {

double most_untrained(const ResultsGroup& group, std::size_t type) {
  const Array& heads = group.values("control_type_heads");
  double most = 0;
  for (std::size_t control = 0; control < heads.shape[0]; ++control) {
    if (std::isnan(heads(control, type))) return std::nan("");
    most = std::max(most, heads(control, type));
  }
  return most;
}

LearnedTypes learned_types(const Results& results) {
  const ResultsGroup& group = results.group("classification");
  const Array& flags = group.values("type");
  const bool has_control = group.has("control_type_heads");
  std::vector<bool> is_typed(flags.shape[1] * flags.shape[2]);
  LearnedTypes types;
  for (std::size_t type = 0; type < flags.shape[0]; ++type) {
    const std::vector<double> has_type = flags.part(type).values;
    const auto n_head = static_cast<std::size_t>(std::ranges::count(has_type, 1.0));
    if (n_head == 0) {
      types.absent.push_back(type);
    } else if (has_control && !(most_untrained(group, type) < static_cast<double>(n_head))) {
      types.not_learned.push_back({type, n_head});
    } else {
      types.learned.push_back({type, n_head});
      for (std::size_t head_index = 0; head_index < is_typed.size(); ++head_index) {
        if (has_type[head_index] == 1) is_typed[head_index] = true;
      }
    }
  }
  std::ranges::stable_sort(types.learned, std::greater(), &TypeCount::n_head);
  types.n_typed = static_cast<std::size_t>(std::ranges::count(is_typed, true));
  types.n_head = static_cast<std::size_t>(
      std::ranges::count(removed_heads(results, {flags.shape[1], flags.shape[2]}), false));
  return types;
}

std::string typed_heads_text(const LearnedTypes& types) {
  return std::to_string(types.n_typed) + " of " + count_text(types.n_head, "head") +
         (types.n_head == 1 ? " has" : " have") + " a type";
}

}  // namespace headscope
