#include "registry.hpp"

#include "attention_patterns/attention_patterns.hpp"
#include "circuits/circuits.hpp"
#include "classification/classification.hpp"
#include "correlation/correlation.hpp"
#include "parameters/parameters.hpp"
#include "paths/paths.hpp"
#include "pruning/pruning.hpp"
#include "tasks/tasks.hpp"

namespace headscope {

const std::vector<RegisteredAnalysis>& analysis_registry() {
  static const std::vector<RegisteredAnalysis> analyses{
      parameters_analysis(), circuits_analysis(),           correlation_analysis(),
      pruning_analysis(),    classification_analysis(),     tasks_analysis(),
      paths_analysis(),      attention_patterns_analysis(),
  };
  return analyses;
}

}  // namespace headscope
