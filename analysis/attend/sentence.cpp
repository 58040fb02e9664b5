#include "attend/sentence.hpp"

#include <array>
#include <limits>

#include "attend/next_tokens.hpp"
#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "headscope/head_types.hpp"
#include "report_text.hpp"
#include "scores/sums.hpp"
#include "scores/tokens.hpp"

namespace headscope {
namespace {

using Copies = std::vector<std::vector<Index>>;

constexpr double least_named = 0.4;  // mean attention of a head that is named
constexpr std::size_t most_named = 5;
constexpr std::size_t most_token_bytes = 600;
constexpr std::size_t most_neurons = 4'000'000;  // values of queries and keys

const AnalysisInfo sentence_info{
    .name = "sentence",
    .title = "The heads on this sentence",
    .purpose = "Says what each head looks at in one sentence.",
    .source = "Voita et al. 2019; Olsson et al. 2022; Clark et al. 2019",
    .passes = {"reading the sentence"},
};

/// A mean over the sentence's queries, and its line in the summary.
struct SentenceScore {
  const char* about;
  ScoreInfo info;
  Ratio (*measure)(const Matrix& pattern, const Copies& copies);
};

const std::array<SentenceScore, 5> sentence_scores{{
    {"Previous token", score_info(HeadScore::previous_token),
     [](const Matrix& pattern, const Copies&) { return offset_mass(pattern, 1); }},
    {"Current token",
     {"current_token", "Mean attention to the query's own token, queries 2 and later",
      "probability", headscope_definition},
     [](const Matrix& pattern, const Copies&) { return offset_mass(pattern, 0); }},
    {"First token", score_info(HeadScore::sink),
     [](const Matrix& pattern, const Copies&) { return sink_mass(pattern); }},
    {"Earlier copies", score_info(HeadScore::duplicate_token), duplicate_token_mass},
    {"Induction-like",
     {"induction_like",
      "Mean attention to the tokens that followed earlier copies of the query's token, over "
      "queries that have a copy before the token before them",
      "probability", "Olsson et al. 2022"},
     after_copies_mass},
}};

/// From the last token of the sentence.
constexpr const char *last_weight = "last_token_weight", *last_key = "last_token_key";
constexpr const char *query_row = "query", *key_row = "key";

const VariableTable sentence_variables{
    {"token_text", "token", "1", "The text of each token"},
    {last_weight, "layer head", "probability", "Largest weight of the last token, sink excluded"},
    Declaration::integer(last_key, "layer head",
                         "Position of the largest weight of the last token, sink excluded; 0 in "
                         "sentences of fewer than 3 tokens"),
    {query_row, "layer head token dimension", "1", "Queries times the scale of the scores"},
    {key_row, "layer head token dimension", "1",
     "Keys; the sum of query times key over the dimensions is the score before the softmax"},
};

/// At least two decimals, and as many as tell the value from `least_named`.
std::string value_text(double value) {
  int places = 2;
  while (value < least_named && decimals(value, places) == decimals(least_named, places)) ++places;
  return decimals(value, places);
}

/// `L0H3 0.92, L1H5 0.61 and 3 more`; of none from `least_named` on, the first.
std::string leading_heads(const Array& values) {
  std::vector<std::size_t> head_indices = ranking(values.values);
  if (head_indices.empty()) return "";
  const auto text = [&](std::size_t head_index) {
    return head_text(head_index, values.shape[1]) + " " + value_text(values.values[head_index]);
  };
  const auto is_named = [&](std::size_t head_index) {
    return values.values[head_index] >= least_named;
  };
  if (!is_named(head_indices.front())) {
    return "no head reaches " + decimals(least_named, 1) + "; most is " +
           text(head_indices.front());
  }
  std::erase_if(head_indices, std::not_fn(is_named));
  return first_joined(head_indices, most_named, text);
}

std::string in_quotes(const std::string& label) {
  return "“" + label + "”";
}

/// `L2H4 to “sat” (3) 0.91, L3H1 to “cat” (2) 0.80`.
std::string leading_keys(const Array& weights, const Array& keys,
                         const std::vector<std::string>& labels) {
  const auto text = [&](std::size_t head_index) {
    const auto key = static_cast<std::size_t>(keys.values[head_index]);
    return head_text(head_index, weights.shape[1]) + " to " + in_quotes(labels.at(key)) + " (" +
           std::to_string(key) + ") " + decimals(weights.values[head_index], 2);
  };
  return joined(ranking(weights.values) | std::views::take(most_named), ", ", text);
}

std::string token_list(const std::vector<std::string>& labels) {
  return std::to_string(labels.size()) + ": " +
         valid_utf8(shortened(joined(labels, " "), most_token_bytes));
}

/// Keeps what the heads do on the sentence.
class SentenceObserver : public PieceObserver {
 public:
  SentenceObserver(const ModelConfig& config, const TokenIds& tokens, NextTokens next_tokens,
                   DocumentStatistics& statistics)
      : config_(config),
        copies_(earlier_copies(tokens)),
        next_tokens_(std::move(next_tokens)),
        statistics_(statistics) {}

  bool wants_pattern(Index /*layer*/) const override { return true; }

  void observe_layer(const LayerView& view) override {
    next_tokens_.observe_layer(view);
    keep_neurons(view);
    const Shape by_head{config_.n_layer, config_.n_head};
    for (Index head = 0; head < config_.n_head; ++head) {
      const Matrix& pattern = view.pattern.slice(head);
      for (const SentenceScore& score : sentence_scores) {
        statistics_.row(score.info.name, by_head)(view.layer, head) =
            score.measure(pattern, copies_).value();
      }
      const Index last = view.n_token - 1, key = largest_keys(pattern)[last];
      const bool is_long_enough = key != no_position;
      statistics_.row(last_key, by_head)(view.layer, head) =
          is_long_enough ? static_cast<double>(key) : 0;
      statistics_.row(last_weight, by_head)(view.layer, head) =
          is_long_enough ? pattern(key, last) : std::numeric_limits<double>::quiet_NaN();
    }
  }

  void end(const PieceEnd& end) override {
    next_tokens_.end(end.resid_final, end.forward, statistics_);
  }

 private:
  /// Queries, scaled so that their product with a key is the score, and keys.
  void keep_neurons(const LayerView& view) const {
    const Index d_head = config_.d_head();
    const Shape shape{config_.n_layer, config_.n_head, view.n_token, d_head};
    if (2 * element_count(shape) > most_neurons) return;
    for (const bool is_query : {true, false}) {
      Array& kept = statistics_.row(is_query ? query_row : key_row, shape);
      const double scale = is_query ? config_.score_scale(view.layer) : 1;
      for (Index head = 0; head < config_.n_head; ++head) {
        const Index first = is_query ? config_.q_row(head) : config_.k_row(head);
        for (Index token = 0; token < view.n_token; ++token) {
          for (Index i = 0; i < d_head; ++i) {
            kept(view.layer, head, token, i) = scale * view.qkv(first + i, token);
          }
        }
      }
    }
  }

  const ModelConfig& config_;
  Copies copies_;
  NextTokens next_tokens_;
  DocumentStatistics& statistics_;
};

class Sentence : public CorpusAnalysis {
 public:
  Sentence(const AnalysisContext& context, const Tokenizer& tokenizer, std::optional<TokenId> next)
      : model_(context.model),
        config_(context.model.config),
        tokenizer_(tokenizer),
        attribution_(context.model),
        next_(next) {}

  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override {
    statistics.texts("token_text") = piece.token_text;
    return std::make_unique<SentenceObserver>(
        config_, piece.tokens, NextTokens(model_, attribution_, piece.tokens, next_), statistics);
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    const auto row = [&](const char* name) -> const Array& { return statistics.rows(name).at(0); };
    std::vector<std::string> tokens = statistics.texts("token_text", 0);
    for (std::string& token : tokens) token = escaped_utf8(token);
    ResultsGroup group;
    group.name = sentence_info.name;
    group.summary = "Attention to position 0 counts for the first token alone: heads rest there.";
    group.add_dimension(Dimension::count("layer", config_.n_layer));
    group.add_dimension(Dimension::count("head", config_.n_head));
    add_next_tokens(statistics, tokenizer_, group);
    group.add(sentence_variables["token_text"], std::move(tokens));
    for (const SentenceScore& score : sentence_scores) {
      const auto& [name, definition, units, references] = score.info;
      group.add({name, "layer head", units, definition, references}, row(name));
    }
    for (const char* const name : {last_weight, last_key}) {
      group.add(sentence_variables[name], row(name));
    }
    add_neurons(statistics, group);
    return {std::move(group)};
  }

 private:
  void add_neurons(const Statistics& statistics, ResultsGroup& group) const {
    if (!statistics.has(query_row)) return;
    group.add_dimension(Dimension::count("dimension", config_.d_head()));
    for (const char* const name : {query_row, key_row}) {
      group.add(sentence_variables[name], statistics.rows(name).at(0));
    }
  }

  const Model& model_;
  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  LogitAttribution attribution_;
  std::optional<TokenId> next_;
};

Description description(const Results& results) {
  const ResultsGroup& group = results.group(sentence_info.name);
  const auto values = [&](const char* name) {
    return without_removed_heads(results, group.values(name));
  };
  const std::vector<std::string> labels = token_labels(group.texts("token_text"));
  Description description;
  description.add("Tokens", token_list(labels));
  const std::vector<bool> is_removed = removed_heads(results, head_shape(results).value());
  const bool any_is_left = std::ranges::count(is_removed, false) > 0;
  description.add("Heads", any_is_left ? "by mean attention weight, those of at least " +
                                             decimals(least_named, 1)
                                       : "the model has no head left");
  for (const SentenceScore& score : sentence_scores) {
    description.add(score.about, leading_heads(values(score.info.name)));
  }
  description.add("From " + in_quotes(labels.back()),
                  leading_keys(values(last_weight), group.values(last_key), labels));
  describe_next_tokens(group, description);
  return description;
}

Presentation presentation() {
  ScoreSection section{"On this sentence", {}};
  for (const SentenceScore& score : sentence_scores) section.variables.push_back(score.info.name);
  section.variables.push_back(last_weight);
  return {.group = sentence_info.name, .describe = description, .scores = {std::move(section)}};
}

}  // namespace

RegisteredAnalysis sentence_analysis(const Tokenizer& tokenizer, std::optional<TokenId> next) {
  return {sentence_info,
          [&tokenizer, next](const AnalysisContext& context) {
            return std::make_unique<Sentence>(context, tokenizer, next);
          },
          {},
          presentation()};
}

HeadIndex last_token_head(const Results& results) {
  const Array values =
      without_removed_heads(results, results.group(sentence_info.name).values(last_weight));
  return HeadIndex::of(largest(values.values).value_or(0), values.shape[1]);
}

}  // namespace headscope
