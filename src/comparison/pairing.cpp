#include "comparison/pairing.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.hpp"

namespace headscope {
namespace {

/// Whether both groups count as many documents and pairs: an option may take a part of them.
bool has_equal_samples(const ResultsGroup& first, const ResultsGroup& later) {
  return std::ranges::all_of(first.variables, [&](const Variable& count) {
    if (!counts_sample(count)) return true;
    const Variable* const found = later.find(count.name);
    return found != nullptr && found->values.values == count.values.values;
  });
}

/// What keeps two runs' variables from pairing, in words; nothing if they are not made of documents
/// or pairs.
std::optional<std::set<std::string>> obstacles_to_pairing(const ComparedRun& first,
                                                          const RunVariable& of_first,
                                                          const ComparedRun& later,
                                                          const RunVariable& of_later) {
  const Variable &variable = *of_first.variable, &other = *of_later.variable;
  if (!variable.interval || !other.interval) return std::nullopt;
  const bool by_documents = variable.resampling.starts_with("documents");
  if (!by_documents && !variable.resampling.starts_with("pairs")) return std::nullopt;
  const auto differs = [&](const std::string& name) {
    const auto &a = first.results.attributes, &b = later.results.attributes;
    const auto of_a = a.find(name), of_b = b.find(name);
    return of_a == a.end() || of_b == b.end() || of_a->second != of_b->second;
  };
  std::set<std::string> obstacles;
  if (by_documents && differs("corpus_sha256")) {
    obstacles.insert("other corpus");
  } else if (by_documents && differs("n_document")) {
    obstacles.insert("other number of documents");
  } else if (!by_documents && differs("tasks_sha256")) {
    obstacles.insert("other tasks");
  } else if (variable.resampling != other.resampling ||
             !has_equal_samples(*of_first.group, *of_later.group)) {
    obstacles.insert(by_documents ? "other documents used" : "other pairs used");
  }
  if (differs("seed")) obstacles.insert("other seed");
  if (differs("version") || differs("git_commit")) obstacles.insert("other version of Headscope");
  return obstacles;
}

/// Whether the variable has what runs are paired by.
bool keeps_parts(const Variable& variable) {
  return variable.interval &&
         variable.interval->influences.size() + variable.interval->resamples.size() > 0;
}

}  // namespace

bool counts_sample(const Variable& variable) {
  return variable.name.starts_with("n_document") || variable.name.starts_with("n_pair");
}

std::vector<bool> paired_runs(const std::vector<ComparedRun>& runs,
                              const std::vector<RunVariable>& by_run) {
  std::vector<bool> paired(runs.size(), false);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (by_run[run].variable == nullptr) continue;
    const auto obstacles =
        obstacles_to_pairing(runs.front(), by_run.front(), runs[run], by_run[run]);
    paired[run] = obstacles && obstacles->empty();
  }
  return paired;
}

std::string pairing_note(const ComparedRun& first, const ComparedRun& later) {
  std::set<std::string> all_obstacles;
  bool any_paired = false;
  for (const ResultsGroup& group : first.results.groups) {
    if (!later.results.has(group.name)) continue;
    const ResultsGroup& later_group = later.results.group(group.name);
    for (const Variable& variable : group.variables) {
      const Variable* const found = later_group.find(variable.name);
      if (found == nullptr || !keeps_parts(variable) || !keeps_parts(*found)) continue;
      const auto obstacles =
          obstacles_to_pairing(first, {&group, &variable}, later, {&later_group, found});
      if (!obstacles) continue;
      any_paired |= obstacles->empty();
      all_obstacles.insert(obstacles->begin(), obstacles->end());
    }
  }
  if (all_obstacles.empty()) return "";
  const std::string reasons = " (" + joined(all_obstacles, ", ") + "): ";
  return later.label +
         (any_paired ? " is paired with " + first.label + " only in part" + reasons +
                           "the remaining differences"
                     : " is not paired with " + first.label + reasons + "differences") +
         " have no intervals of their own, and only large ones show";
}

}  // namespace headscope
