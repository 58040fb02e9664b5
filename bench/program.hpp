#pragma once

#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "headscope/sequence_batch.hpp"
#include "headscope/token_loss.hpp"
#include "restart.hpp"
#include "seconds.hpp"

/// What the programs have in common that compare_*.py measure.
namespace headscope::bench {

using nlohmann::json;

/// Values by name: `--model`.
using Options = std::map<std::string, std::string>;

inline json read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw DataError(path, "", "cannot be read");
  return json::parse(file);
}

/// Pairs that are run together.
struct PairBatch {
  SequenceBatch sequences = {};
  std::vector<float> weights = {};  ///< of predictions in the sum of margins
  std::vector<Index> ends = {};     ///< first column after each pair
};

/// Batches of about 1024 tokens.
inline std::vector<PairBatch> pair_batches(const json& pairs) {
  std::vector<PairBatch> all;
  for (const json& pair : pairs) {
    if (all.empty() || all.back().sequences.n_column() >= 1024) all.emplace_back();
    PairBatch& batch = all.back();
    const auto good = pair.at("good").get<TokenIds>(), bad = pair.at("bad").get<TokenIds>();
    const auto n_shared = static_cast<Index>(std::ranges::mismatch(good, bad).in1 - good.begin());
    batch.sequences.add_pair(good, bad, n_shared, false);
    batch.ends.push_back(batch.sequences.n_column());
    batch.weights.insert(batch.weights.end(), good.size() - n_shared, -1.0F);
    batch.weights.insert(batch.weights.end(), bad.size() - n_shared, 1.0F);
  }
  return all;
}

/// The sum over a batch's pairs of how much less the good side loses.
inline double margin_sum(const TokenLoss& loss, const PairBatch& batch) {
  double sum = 0;
  for (std::size_t i = 0; i < batch.weights.size(); ++i) {
    sum += static_cast<double>(batch.weights[i]) * loss.nll[i];
  }
  return sum;
}

/// A program's main function: reads the options, sets the threads and prints what is measured.
inline int run(int argc, char** argv, json (*measure)(const Options&)) {
  restart_with_best_settings(argv);
  try {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
    blas::set_thread_count(std::stoi(options.at("--threads")));
    std::cout << measure(options).dump() << "\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace headscope::bench
