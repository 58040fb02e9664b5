// Measures Headscope for bench/compare_tasks.py, which documents the options and the JSON line
// printed.
#include "headscope/ablation.hpp"
#include "program.hpp"

namespace headscope::bench {
namespace {

json measure(const Options& options) {
  const Model model = load_model(options.at("--model"));
  const json pairs = read_json(options.at("--pairs"));
  std::vector<HeadVariant> variants;
  for (Index l = 0; l < model.config.n_layer; ++l) {
    for (Index h = 0; h < model.config.n_head; ++h) variants.push_back({l, {h}});
  }
  std::vector<double> margin(variants.size(), 0);
  const double taken = seconds([&] {
    const Precision precision = parse_precision(options.at("--precision")).value();
    const ComputeContext context(fastest_engines(precision, try_engines(model.config)));
    Forward forward(model, context);
    HeadAblation ablation(model, context,
                          ablation_precision(precision, context.engines().differences, 0, 0));
    for (const PairBatch& batch : pair_batches(pairs)) {
      forward.run(batch.sequences, {&ablation});
      const std::vector<TokenLoss> losses = ablation.losses(batch.sequences, variants);
      for (std::size_t i = 0; i < margin.size(); ++i) margin[i] += margin_sum(losses[i], batch);
    }
  });
  for (double& sum : margin) sum /= static_cast<double>(pairs.size());
  return {{"seconds", taken}, {"margin", margin}};
}

}  // namespace
}  // namespace headscope::bench

int main(int argc, char** argv) {
  return headscope::bench::run(argc, argv, headscope::bench::measure);
}
