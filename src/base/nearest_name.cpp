#include "base/nearest_name.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headscope {
namespace {

/// Insertions, deletions, substitutions and exchanges of neighbouring letters that turn one into
/// the other.
std::size_t edit_distance(const std::string& from, const std::string& to) {
  std::vector<std::size_t> before, above, row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = above[j] + (from[i] == to[j] ? 0 : 1);
      row[j + 1] = std::min({row[j] + 1, above[j + 1] + 1, replaced});
      const bool exchanged = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
      if (exchanged) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(const std::string& typed, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!typed.empty() && name.starts_with(typed)) return name;
  }
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(typed, name);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

std::string suggestion(const std::string& typed, const std::vector<std::string>& names,
                       const std::string& otherwise) {
  const std::string nearest = nearest_name(typed, names);
  return nearest.empty() ? otherwise : "; did you mean " + nearest + "?";
}

}  // namespace headscope
