#include "analysis.hpp"
#include "circuits.hpp"
#include "parameters.hpp"

namespace headscope {

const std::vector<RegisteredAnalysis>& analysis_registry() {
  static const std::vector<RegisteredAnalysis> analyses{
      parameters_analysis(),
      circuits_analysis(),
  };
  return analyses;
}

}  // namespace headscope
