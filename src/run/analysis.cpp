#include "headscope/analysis.hpp"

namespace headscope {
namespace {

constexpr std::uint64_t most_draws = 1'000'000'000;

}  // namespace

AblationPrecision AnalysisSettings::ablation(Index d_vocab) const {
  return ablation_precision(parse_precision(precision).value(), engines.differences, d_vocab, seed);
}

void AnalysisSettings::declare(OptionTable& option,
                               const std::vector<RegisteredAnalysis>& analyses) {
  option(n_bootstrap, {"bootstrap", "N",
                       "number of resamples of the documents for each interval; fewer than 20 "
                       "resamples give no intervals, nor do fewer than 20 documents, but in "
                       "score_model (jackknife) and of induction"})
      .most = most_draws;
  option(n_null, {"nulls", "N",
                  "number of random draws for each null distribution of the weights-only analyses"})
      .most = most_draws;
  option(seed, {"seed", "N", "seed of all random choices; runs with the same seed draw the same"});
  option(
      precision,
      {"precision", "NAME",
       "precision of matrix products with weights: float32; or high or fast when a run takes too "
       "long. Loss increases of ablated heads then err by about 0.1 % of a typical increase "
       "(high), or by 1 % in the median (fast), and by 5 % and more for heads that cost many times "
       "as much"})
      .choices = {"float32", "high", "fast"};
  std::vector<std::string> words = engine_options();
  words.insert(words.begin(), engine);
  option(
      engine,
      {"engine", "NAME",
       "engine for matrix products with weights; with trial the run measures the engines that keep "
       "the precision and takes the fastest. Name an engine when runs must use the same one"})
      .choices = std::move(words);
  for (const RegisteredAnalysis& analysis : analyses) {
    if (!analysis.options) continue;
    option.heading(analysis.info.option_heading(), analysis.info.name);
    analysis.options(*this, option);
  }
}

}  // namespace headscope
