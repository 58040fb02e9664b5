#include "analysis_settings.hpp"

#include "analysis.hpp"

namespace headscope {

void AnalysisSettings::declare(OptionTable& option) {
  option(
      n_bootstrap,
      {"bootstrap", "N",
       "resamples of documents behind each interval; no intervals if fewer than 20, or of a corpus "
       "of fewer than 20 documents"});
  option(n_null, {"nulls", "N", "random draws behind each null of the weights-only analyses"});
  option(seed, {"seed", "N", "seed of everything random"});
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (!analysis.options) continue;
    option.heading("Analysis " + analysis.info.name);
    analysis.options(*this, option);
  }
}

}  // namespace headscope
