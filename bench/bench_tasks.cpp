// Measures Headscope for bench/compare_tasks.py, which documents the options and the JSON line
// printed.
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "headscope/ablation.hpp"
#include "restart.hpp"

namespace headscope {
namespace {

using nlohmann::json;

/// Sums over pairs of the margin without each head.
std::vector<double> margin_sums(const std::vector<TokenLoss>& losses,
                                const std::vector<double>& signs) {
  std::vector<double> sums;
  for (const TokenLoss& loss : losses) {
    double sum = 0;
    for (std::size_t i = 0; i < signs.size(); ++i) sum += signs[i] * loss.nll[i];
    sums.push_back(sum);
  }
  return sums;
}

void measure(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  blas::set_thread_count(std::stoi(options.at("--threads")));
  const Model model = load_model(options.at("--model"));
  std::ifstream file(options.at("--pairs"));
  const json pairs = json::parse(file);

  const auto start = std::chrono::steady_clock::now();
  const Precision precision = parse_precision(options.at("--precision")).value();
  const ComputeContext context(fastest_engines(precision, this_processor()));
  Forward forward(model, context);
  HeadAblation ablation(model, context, ablation_precision(precision, this_processor(), 0, 0));
  LayerObserver* const observers[] = {&ablation};
  std::vector<HeadVariant> variants;
  for (Index l = 0; l < model.config.n_layer; ++l) {
    for (Index h = 0; h < model.config.n_head; ++h) variants.push_back({l, {h}});
  }
  std::vector<double> sums(variants.size(), 0);
  for (std::size_t first = 0; first < pairs.size();) {
    SequenceBatch sequences;
    std::vector<double> signs;
    for (; first < pairs.size() && sequences.n_column() < 1024; ++first) {
      const auto good = pairs[first].at("good").get<TokenIds>(),
                 bad = pairs[first].at("bad").get<TokenIds>();
      const auto n_shared = static_cast<Index>(std::ranges::mismatch(good, bad).in1 - good.begin());
      sequences.add_pair(good, bad, n_shared, false);
      signs.insert(signs.end(), good.size() - n_shared, -1);
      signs.insert(signs.end(), bad.size() - n_shared, 1);
    }
    forward.run(sequences, observers);
    const std::vector<double> of_batch = margin_sums(ablation.losses(sequences, variants), signs);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_batch[i];
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (double& sum : sums) sum /= static_cast<double>(pairs.size());
  std::cout << json{{"seconds", seconds.count()}, {"margin", sums}} << "\n";
}

}  // namespace
}  // namespace headscope

int main(int argc, char** argv) {
  headscope::restart_with_best_settings(argv);
  try {
    headscope::measure(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_tasks: " << error.what() << "\n";
    return 1;
  }
}
