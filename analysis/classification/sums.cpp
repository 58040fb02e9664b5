#include "classification/sums.hpp"

#include <cmath>

#include "headscope/results.hpp"

namespace headscope {
namespace {

constexpr const char* count_prefix = "relation_count.";

constexpr std::array<ScoreInfo, n_head_score> scores{{
    {"sink", "Mean attention to position 0, queries 1 and later", "probability",
     "Clark et al. 2019; Vig & Belinkov 2019"},
    {"entropy",
     "Mean entropy -sum A ln A of the attention distribution, all keys, queries 1 and later",
     "nats", "Clark et al. 2019"},
    {"confidence", "Mean largest attention weight, all keys, queries 1 and later", "probability",
     "Voita et al. 2019"},
    {"distance", "Attention-weighted distance to the key, sum A (q - k) / sum A, sink excluded",
     "tokens", "Vig & Belinkov 2019"},
    {"variability",
     "sum |A - mean A| / (2 sum A) over the first 10 positions, sink excluded; the mean is over "
     "documents and pieces of cut ones",
     "1", "Vig & Belinkov 2019"},
    {"previous_token", "Mean attention to the previous token, queries 2 and later", "probability",
     "Voita et al. 2019; Olsson et al. 2022"},
    {"delimiter",
     "Share of the attention, sink excluded, on tokens that are only punctuation: at least one "
     "character of Unicode category P, and beside such only white space",
     "1", "Clark et al. 2019"},
    {"dependency_alignment",
     "Share of the word-level attention from words to earlier words of the document that runs "
     "along a dependency arc",
     "1", "Vig & Belinkov 2019"},
    {"coreference",
     "Share of non-first mentions whose head word's largest earlier word is the head word of an "
     "antecedent of the same entity",
     "1", "Clark et al. 2019"},
    {"coreference_pronoun", "As coreference, over mentions whose head word is a pronoun (PRON)",
     "1", "Clark et al. 2019"},
    {"semantic",
     "Mean over queries with at least 5 eligible keys of Pearson's r between attention and the "
     "cosine of token embeddings, over keys 1 .. q-2 that hold another token",
     "correlation", own_definition},
    {"duplicate_token",
     "Mean attention to earlier copies of the query's token, over queries that have one",
     "probability", "Wang et al. 2022; TransformerLens"},
    {"rare_token",
     "Share of queries whose largest weight, sink excluded, lies on the token rarest in the "
     "corpus; queries whose rarest token is tied with another, not a copy of it, are left out",
     "1", "Voita et al. 2019"},
}};

constexpr std::array<ScoreInfo, n_baseline> baselines{{
    {"delimiter_baseline", "Punctuation tokens' share of the keys available, sink excluded", "1",
     own_definition},
    {"distance_uniform",
     "The distance of a head that spreads evenly over all keys, the sink among them", "tokens",
     "Vig & Belinkov 2019"},
    {"distance_furthest", "The distance of a head that always looks at position 1", "tokens",
     own_definition},
    {"dependency_alignment_baseline",
     "The dependency alignment of a head that spreads evenly over the earlier words", "1",
     "Vig & Belinkov 2019"},
    {"coreference_baseline",
     "The coreference score of taking the nearest preceding mention: that of the last head word "
     "before the mention's own",
     "1", "Clark et al. 2019"},
    {"coreference_pronoun_baseline",
     "As coreference_baseline, over mentions whose head word is a pronoun (PRON)", "1",
     "Clark et al. 2019"},
    {"coreference_baseline_completed",
     "The coreference score of taking the mention completed last before it: of the mentions that "
     "end before the mention's first word, the one whose last word comes last, the longest on ties",
     "1", own_definition},
    {"coreference_pronoun_baseline_completed",
     "As coreference_baseline_completed, over mentions whose head word is a pronoun (PRON)", "1",
     own_definition},
}};

}  // namespace

const ScoreInfo& score_info(HeadScore score) {
  return scores[static_cast<std::size_t>(score)];
}

const ScoreInfo& baseline_info(Baseline baseline) {
  return baselines[static_cast<std::size_t>(baseline)];
}

std::string weight_name(const std::string& name) {
  return name + ".weight";
}

std::string relation_hits_name(const std::string& relation) {
  return "relation_hits." + relation;
}

std::string relation_count_name(const std::string& relation) {
  return count_prefix + relation;
}

std::string relation_offsets_name(const std::string& relation) {
  return "relation_offsets." + relation;
}

WeightedSums::WeightedSums(const Statistics& statistics, arma::mat weights)
    : statistics_(statistics), weights_(std::move(weights)) {}

arma::mat WeightedSums::total(const std::string& name, Half half) const {
  Array sums = statistics_.total(name);
  const arma::mat by_block(sums.values.data(), sums.size() / n_block, n_block, false, true);
  if (half == Half::all) return by_block * weights_;
  arma::mat weights = weights_;
  for (Index block = half == Half::even ? 1 : 0; block < n_block; block += 2) {
    weights.row(block).zeros();
  }
  return by_block * weights;
}

arma::mat WeightedSums::ratio(const std::string& name, Half half) const {
  arma::mat numerator = total(name, half);
  const arma::mat denominator = total(weight_name(name), half);
  for (Index i = 0; i < numerator.n_elem; ++i) {
    numerator[i] = Ratio{numerator[i], denominator[i]}.value();
  }
  return numerator;
}

arma::mat bootstrap_weights(const Statistics& statistics, std::size_t n_bootstrap,
                            std::uint64_t seed) {
  const Bootstrap bootstrap =
      Bootstrap::of_documents(statistics.total("n_document").values, n_bootstrap, seed);
  arma::mat weights(n_block, 1 + bootstrap.n_resample(), arma::fill::ones);
  for (std::size_t i = 0; i < bootstrap.n_resample(); ++i) {
    weights.col(1 + i) = arma::conv_to<arma::vec>::from(bootstrap.draw(i));
  }
  return weights;
}

Estimate row_estimate(const arma::mat& values, Index row) {
  const arma::rowvec samples = values.row(row);
  return percentile_estimate(samples.front(), {samples.begin() + 1, samples.end()});
}

std::vector<std::string> relations_of(const Statistics& statistics) {
  std::vector<std::string> relations;
  const std::string prefix = count_prefix;
  for (const std::string& name : statistics.sum_names()) {
    if (name.compare(0, prefix.size(), prefix) == 0)
      relations.push_back(name.substr(prefix.size()));
  }
  return relations;
}

}  // namespace headscope
