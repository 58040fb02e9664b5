#include "headscope/analysis.hpp"

namespace headscope {

AblationPrecision AnalysisSettings::ablation(Index d_vocab) const {
  return ablation_precision(parse_precision(precision).value(), engines.differences, d_vocab, seed);
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
  std::vector<std::string> words = engine_options();
  words.insert(words.begin(), engine);
  option(engine, {"engine", "NAME",
                  "that multiplies weights: the fastest of those that keep the precision in a "
                  "trial at start, or the one named"})
      .choices = std::move(words);
  for (const RegisteredAnalysis& analysis : analyses) {
    if (!analysis.options) continue;
    option.heading("Analysis " + analysis.info.name);
    analysis.options(*this, option);
  }
}

}  // namespace headscope
