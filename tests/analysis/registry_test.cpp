#include "registry.hpp"

#include <gtest/gtest.h>

#include <set>

#include "headscope/results.hpp"
#include "scores/sums.hpp"

namespace headscope {
namespace {

/// The variables that a presentation names, and an empty name.
std::set<std::string> variables_shown(const Presentation& shown) {
  std::set<std::string> names = shown.auxiliary;
  const auto add = [&](const std::vector<std::string>& more) {
    names.insert(more.begin(), more.end());
  };
  for (const ScoreSection& section : shown.scores) add(section.variables);
  for (const NearestHeads& nearest : shown.nearest) add({nearest.variable, nearest.chance});
  for (const EdgeLists& edges : shown.edges) add({edges.effect, edges.q, edges.eligible});
  for (const BestRows& rows : shown.tables) {
    add({rows.value, rows.baseline, rows.count, rows.eligible});
  }
  for (const Measure& measure : shown.measures) add({measure.variable});
  for (const HeadSummary& summary : shown.summaries) {
    add({summary.text, summary.places, summary.marks});
  }
  const TypeReasons& reasons = shown.reasons;
  add({reasons.rule, reasons.sentence, reasons.score, reasons.baseline, reasons.threshold,
       reasons.about, reasons.unexplained});
  add(reasons.notes);
  return names;
}

/// Declared by the classification from the table of scores, or for both effects at once.
bool is_score(const std::string& name, const VariableTable& variables) {
  for (std::size_t i = 0; i < n_head_score; ++i) {
    const std::string score = score_info(static_cast<HeadScore>(i)).name;
    if (name == score) return true;
    if (name.starts_with(score) && variables.find("{effect}" + name.substr(score.size()))) {
      return true;
    }
  }
  return false;
}

TEST(AnalysisRegistry, EveryPresentationNamesVariablesThatItsAnalysisDeclares) {
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    const Presentation& shown = analysis.presentation;
    EXPECT_EQ(shown.group, analysis.info.name);
    for (const std::string& name : variables_shown(shown)) {
      if (name.empty()) continue;
      ASSERT_NE(shown.variables, nullptr) << shown.group;
      EXPECT_TRUE(shown.variables->find(name) || is_score(name, *shown.variables))
          << shown.group << ' ' << name;
    }
  }
}

TEST(AnalysisRegistry, NoTwoMeasuresHaveOneName) {
  std::set<std::string> names;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    for (const Measure& measure : analysis.presentation.measures) {
      EXPECT_TRUE(names.insert(measure.name).second) << measure.name;
    }
  }
}

}  // namespace
}  // namespace headscope
