#include "analysis_settings.hpp"

#include "analysis.hpp"

namespace headscope {

void AnalysisSettings::declare(OptionTable& option) {
  option(n_bootstrap,
         {.name = "bootstrap",
          .value = "N",
          .help = "resamples of documents behind each interval, none if fewer than 20"});
  option(n_null, {.name = "nulls",
                  .value = "N",
                  .help = "random draws behind each null of the weights-only analyses"});
  option(seed, {.name = "seed", .value = "N", .help = "seed of everything random"});
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (!analysis.options) continue;
    option.heading("Analysis " + analysis.info.name);
    analysis.options(*this, option);
  }
}

}  // namespace headscope
