#include "registry.hpp"

#include "attention_patterns/attention_patterns.hpp"
#include "circuits/circuits.hpp"
#include "classification/classification.hpp"
#include "correlation/correlation.hpp"
#include "headscope/comparison.hpp"
#include "parameters/parameters.hpp"
#include "paths/paths.hpp"
#include "pruning/pruning.hpp"
#include "score_model/score_model.hpp"
#include "tasks/tasks.hpp"

namespace headscope {

const std::vector<RegisteredAnalysis>& analysis_registry() {
  static const std::vector<RegisteredAnalysis> analyses{
      classification_analysis(), score_model_analysis(), pruning_analysis(),
      tasks_analysis(),          paths_analysis(),       correlation_analysis(),
      circuits_analysis(),       parameters_analysis(),  attention_patterns_analysis(),
  };
  return analyses;
}

std::vector<Presentation> run_presentations() {
  std::vector<Presentation> presentations;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    presentations.push_back(analysis.presentation);
  }
  return presentations;
}

std::vector<Presentation> presentations_of(const Results& results) {
  std::vector<Presentation> of_runs = run_presentations();
  if (results.has(comparison_group)) return {comparison_presentation(of_runs)};
  return of_runs;
}

}  // namespace headscope
