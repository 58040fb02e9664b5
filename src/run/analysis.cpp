#include "headscope/analysis.hpp"

namespace headscope {
namespace {

Precision precision_of(const AnalysisSettings& settings) {
  return parse_precision(settings.precision).value_or(Precision::float32);
}

}  // namespace

Engines AnalysisSettings::engines() const {
  return fastest_engines(precision_of(*this), this_processor());
}

AblationPrecision AnalysisSettings::ablation(Index d_vocab) const {
  return ablation_precision(precision_of(*this), this_processor(), d_vocab, seed);
}

void AnalysisSettings::declare(OptionTable& option,
                               const std::vector<RegisteredAnalysis>& analyses) {
  option(
      n_bootstrap,
      {"bootstrap", "N",
       "resamples of documents behind each interval; no intervals if fewer than 20, or of a corpus "
       "of fewer than 20 documents"});
  option(n_null, {"nulls", "N", "random draws behind each null of the weights-only analyses"});
  option(seed, {"seed", "N", "seed of everything random"});
  option(precision,
         {"precision", "NAME",
          "of products of weights: float32, or the fastest way of this processor whose losses of "
          "ablated heads are within 0.1 % (high) or 1 % (fast) of a typical increase"})
      .choices = {"float32", "high", "fast"};
  for (const RegisteredAnalysis& analysis : analyses) {
    if (!analysis.options) continue;
    option.heading("Analysis " + analysis.info.name);
    analysis.options(*this, option);
  }
}

}  // namespace headscope
