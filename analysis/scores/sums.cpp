#include "scores/sums.hpp"

#include "headscope/resampling.hpp"
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
    {"distance_even",
     "distance of a head that gives keys other than the sink as much attention as this head, query "
     "by query, and spreads it evenly",
     "tokens", headscope_definition},
    {"variability",
     "sum |A - mean A| / (2 sum A) over the first 10 positions, sink excluded; mean A is the mean "
     "attention over documents (over pieces, for documents that are cut)",
     "1", "Vig & Belinkov 2019"},
    {"previous_token", "Mean attention to the previous token, queries 2 and later", "probability",
     "Voita et al. 2019; Olsson et al. 2022"},
    {"delimiter",
     "Share of the attention, sink excluded, on tokens of punctuation only: characters of Unicode "
     "category P, at least one, and white space",
     "1", "Clark et al. 2019"},
    {"dependency_alignment",
     "Share of the word-level attention from words to earlier words of the document that runs "
     "along a dependency arc",
     "1", "Vig & Belinkov 2019"},
    {"coreference",
     "Share of non-first mentions whose head word attends most, among earlier words, to the head "
     "word of an antecedent (a mention of the same entity)",
     "1", "Clark et al. 2019"},
    {"coreference_pronoun", "As coreference, over mentions whose head word is a pronoun (PRON)",
     "1", "Clark et al. 2019"},
    {"semantic",
     "Pearson's r between attention and the cosine of token embeddings, over keys 1 .. q-2 with "
     "another token; mean over queries with at least 5 such keys",
     "correlation", headscope_definition},
    {"duplicate_token",
     "Mean attention to earlier copies of the query's token, over queries with an earlier copy",
     "probability", "Wang et al. 2022; TransformerLens"},
    {"rare_token",
     "Share of queries whose largest attention weight, sink excluded, is on the token that is "
     "rarest in the corpus; queries with two different rarest tokens are left out",
     "1", "Voita et al. 2019"},
    {"copy_effect",
     "What attending adds to the logit of the attended token: sum over keys k >= 1 of A[q,k] "
     "(c_k[t_k] - mean of c_k over the vocabulary), mean over queries q >= 2. t_k is the token at "
     "k; c_k = W_U (gain . centre(W_O v_k)) / scale_q are the logits that the head's value at k "
     "writes, with the final LayerNorm's scale at q held fixed",
     "logits", "Elhage et al. 2021; McDougall et al. 2023"},
    {"copy_effect_null",
     "Mean of copy_effect over all exchanges of the document's token types: the mean of c_k over "
     "these types takes the place of c_k[t_k]",
     "logits", headscope_definition},
    {"suppression_effect",
     "copy_effect with the sum over fewer keys: those whose token is among the 10 most probable "
     "tokens of the logit lens at the query, before the head's layer; queries without such a key "
     "count as 0",
     "logits", "McDougall et al. 2023; nostalgebraist 2020"},
    {"suppression_effect_null",
     "Mean of suppression_effect over all exchanges of the document's token types, for the same "
     "keys, as in copy_effect_null",
     "logits", headscope_definition},
}};

constexpr std::array<ScoreInfo, n_baseline> baselines{{
    {"delimiter_baseline",
     "Share of the available keys, sink excluded, that are punctuation tokens", "1",
     headscope_definition},
    {"distance_uniform",
     "distance of a head that attends to the sink equally at all queries, and evenly to all other "
     "keys",
     "tokens", "Vig & Belinkov 2019"},
    {"distance_furthest", "distance of a head that always attends to position 1", "tokens",
     headscope_definition},
    {"dependency_alignment_baseline",
     "dependency_alignment of a head that attends evenly to all earlier words", "1",
     "Vig & Belinkov 2019"},
    {"dependency_alignment_previous",
     "dependency_alignment of a head that attends to the word before", "1", headscope_definition},
}};
static_assert(scores.back().name && baselines.back().name, "every enumerator has a line");

/// n_block x (1 + resamples): 1, and how often each resample draws the block.
arma::mat weights_of(const Bootstrap& bootstrap) {
  arma::mat weights(n_block, 1 + bootstrap.n_resample(), arma::fill::ones);
  for (std::size_t i = 0; i < bootstrap.n_resample(); ++i) {
    weights.col(1 + i) = arma::conv_to<arma::vec>::from(bootstrap.draw(i));
  }
  return weights;
}

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

std::string relation_classes_name(const std::string& relation) {
  return "relation_classes." + relation;
}

std::string relation_test_name(const std::string& relation, Index direction) {
  return relation + "." + std::to_string(direction);
}

WeightedSums::WeightedSums(const Statistics& statistics, Bootstrap bootstrap, arma::mat weights)
    : statistics_(statistics), bootstrap_(std::move(bootstrap)) {
  weights_.fill(weights);
  for (Index block = 0; block < weights.n_rows; ++block) {
    const Half other = block % 2 == 0 ? Half::odd : Half::even;
    weights_[static_cast<std::size_t>(other)].row(block).zeros();
  }
}

WeightedSums::WeightedSums(const Statistics& statistics, std::size_t n_bootstrap,
                           std::uint64_t seed)
    : WeightedSums(statistics, Bootstrap::of_documents(statistics.total("n_document").values,
                                                       n_bootstrap, seed)) {}

WeightedSums::WeightedSums(const Statistics& statistics, Bootstrap bootstrap)
    : WeightedSums(statistics, bootstrap, weights_of(bootstrap)) {}

void WeightedSums::weigh(const std::string& name, const arma::mat& weights,
                         arma::mat& totals) const {
  Array sums = statistics_.total(name);
  const arma::mat by_block(sums.values.data(), sums.size() / n_block, n_block, false, true);
  totals = by_block * weights;
}

void WeightedSums::total(const std::string& name, Half half, arma::mat& totals) const {
  weigh(name, weights(half), totals);
}

arma::mat WeightedSums::total(const std::string& name, Half half) const {
  arma::mat totals;
  total(name, half, totals);
  return totals;
}

arma::vec WeightedSums::observed(const std::string& name, Half half) const {
  arma::vec totals;
  weigh(name, weights(half).col(0), totals);
  return totals;
}

arma::mat WeightedSums::ratio(const std::string& name, Half half) const {
  arma::mat numerator = total(name, half);
  const arma::mat denominator = total(weight_name(name), half);
  for (Index i = 0; i < numerator.n_elem; ++i) {
    numerator[i] = Ratio{numerator[i], denominator[i]}.value();
  }
  return numerator;
}

std::vector<Estimate> WeightedSums::estimates(
    const std::function<arma::mat(const WeightedSums&)>& values) const {
  const auto columns = [](const arma::mat& by_weighting, Index first, Index last) {
    std::vector<std::vector<double>> rows;
    for (Index i = first; i < last; ++i) {
      rows.emplace_back(by_weighting.begin_col(i), by_weighting.end_col(i));
    }
    return rows;
  };
  const Index n_column = std::min<Index>(n_weighting(), 1 + n_kept_resample);
  const arma::mat by_weighting =
      values(WeightedSums(statistics_, bootstrap_, weights(Half::all).head_cols(n_column)));
  Replicates replicates;
  replicates.observed = columns(by_weighting, 0, 1).front();
  replicates.resampled = [&] { return columns(by_weighting, 1, n_column); };
  if (const Index n_part = bootstrap_.n_left_out(); n_part > 0) {
    arma::mat weights(n_block, n_part);
    for (Index i = 0; i < n_part; ++i) {
      weights.col(i) = arma::conv_to<arma::vec>::from(bootstrap_.without(i));
    }
    replicates.left_out =
        columns(values(WeightedSums(statistics_, bootstrap_, std::move(weights))), 0, n_part);
  }
  return bootstrap_.estimates(replicates);
}

Estimate row_estimate(const arma::mat& values, Index row) {
  const arma::rowvec samples = values.row(row);
  return bootstrap_estimate(samples.front(), {samples.begin() + 1, samples.end()});
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
