#include "headscope/nearest_name.hpp"

#include <algorithm>
#include <numeric>

namespace headscope {
namespace {

/// Insertions, deletions and substitutions of a letter that turn one into the other.
std::size_t edit_distance(const std::string& from, const std::string& to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const char letter : from) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (letter == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
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
