#include "attend/next_tokens.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

constexpr TokenId no_token = -1;
constexpr Index columns_at_once = 32;  // bounds the memory of the logits
constexpr std::size_t n_listed = 4;    // heads in a line
constexpr const char *id_row = "candidate_id", *probability_row = "candidate_probability",
                     *logit_row = "candidate_logit", *effect_row = "candidate_effect",
                     *text_variable = "candidate_text";

const VariableTable candidate_variables{
    {text_variable, "token rank", "1",
     "Candidates for the token after each token: the five most probable, then the one that follows "
     "in the text; empty: none"},
    {probability_row, "token rank", "probability", "Probability of each candidate"},
    {logit_row, "token rank", "logits",
     "Logit of each candidate minus the mean logit of the vocabulary"},
    {effect_row, "token rank layer head", "logits",
     "Each head's direct effect on a candidate's logit minus the mean logit: its output through "
     "the final LayerNorm, whose scale is held fixed, and the unembedding",
     "Elhage et al. 2021"},
};

/// The most probable tokens by one token's logits, then `following`; and their probabilities and
/// logits minus the mean.
struct Candidates {
  std::vector<TokenId> ids;
  std::vector<double> probabilities, logits;
};

Candidates candidates_of(const float* logits, Index d_vocab, TokenId following) {
  Candidates found;
  found.ids.resize(d_vocab);
  std::iota(found.ids.begin(), found.ids.end(), 0);
  const std::size_t n = std::min<std::size_t>(NextTokens::n_most_probable, d_vocab);
  std::ranges::partial_sort(
      found.ids, found.ids.begin() + static_cast<std::ptrdiff_t>(n),
      [&](TokenId a, TokenId b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  found.ids.resize(n);
  found.ids.resize(NextTokens::n_most_probable, no_token);
  found.ids.push_back(following);
  const double most = logits[found.ids[0]];
  const double sum = std::accumulate(logits, logits + d_vocab, 0.0, [&](double total, float logit) {
    return total + std::exp(logit - most);
  });
  const double mean = std::accumulate(logits, logits + d_vocab, 0.0) / static_cast<double>(d_vocab);
  for (const TokenId id : found.ids) {
    const bool none = id == no_token;
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    found.probabilities.push_back(none ? missing : std::exp(logits[id] - most) / sum);
    found.logits.push_back(none ? missing : logits[id] - mean);
  }
  return found;
}

std::string token_text(const Tokenizer& tokenizer, double id) {
  if (id < 0) return "";
  if (id >= static_cast<double>(tokenizer.size())) return "[" + number_text(id, 0) + "]";
  return escaped_utf8(tokenizer.decode(static_cast<TokenId>(id)));
}

std::string probability_text(double share) {
  if (share < 0.001) return "below 0.1 %";
  return decimals(100 * share, share < 0.0995 ? 1 : 0) + " %";
}

/// The heads that push most in one direction: `L4H1 +2.10, L3H0 +0.41`; empty if none do.
std::string pushing_heads(const std::vector<double>& effects, double sign, std::size_t n_head) {
  std::vector<std::size_t> head_indices = numbers_where(
      effects.size(), [&](std::size_t head_index) { return sign * effects[head_index] >= 0.005; });
  std::ranges::stable_sort(head_indices, std::greater<>(),
                           [&](std::size_t head_index) { return sign * effects[head_index]; });
  return joined(head_indices | std::views::take(n_listed), ", ", [&](std::size_t head_index) {
    return head_text(head_index, n_head) + " " + signed_text(decimals(effects[head_index], 2));
  });
}

}  // namespace

NextTokens::NextTokens(const Model& model, const LogitAttribution& attribution,
                       const TokenIds& tokens, std::optional<TokenId> chosen)
    : model_(model), attribution_(attribution) {
  following_.assign(tokens.begin() + 1, tokens.end());
  following_.push_back(chosen.value_or(no_token));
}

void NextTokens::end(const Matrix& resid_final, Forward& forward, DocumentStatistics& statistics) {
  const ModelConfig& config = model_.config;
  const Index n = resid_final.n_cols;
  Array& ids = statistics.row(id_row, {n, n_candidate});
  Array& probabilities = statistics.row(probability_row, {n, n_candidate});
  Array& values = statistics.row(logit_row, {n, n_candidate});
  Array& effects = statistics.row(effect_row, {n, n_candidate, config.n_layer, config.n_head});
  for (Index begin = 0; begin < n; begin += columns_at_once) {
    const Index end = std::min(begin + columns_at_once, n);
    const Matrix logits = forward.logits(resid_final.cols(begin, end - 1));
    for (Index t = begin; t < end; ++t) {
      const Candidates found =
          candidates_of(logits.colptr(t - begin), logits.n_rows, following_[t]);
      for (std::size_t i = 0; i < n_candidate; ++i) {
        ids(t, i) = found.ids[i];
        probabilities(t, i) = found.probabilities[i];
        values(t, i) = found.logits[i];
      }
    }
  }
  const std::vector<double> scales = final_scales(model_, resid_final);
  for (std::size_t i = 0; i < n_candidate; ++i) {
    TokenIds tokens{0};  // next_tokens leaves out the first
    for (Index t = 0; t < n; ++t) {
      tokens.push_back(static_cast<TokenId>(std::max(ids(t, i), 0.0)));
    }
    const LogitDirections directions = attribution_.next_tokens(tokens);
    for (Index layer = 0; layer < config.n_layer; ++layer) {
      const arma::mat by_head = head_direct_effects(model_.layers[layer].W_O, z_[layer],
                                                    directions.directions, config.n_head);
      for (Index t = 0; t < n; ++t) {
        for (Index head = 0; head < config.n_head; ++head) {
          effects(t, i, layer, head) = ids(t, i) < 0 ? std::numeric_limits<double>::quiet_NaN()
                                                     : by_head(head, t) / scales[t];
        }
      }
    }
  }
}

void add_next_tokens(const Statistics& statistics, const Tokenizer& tokenizer,
                     ResultsGroup& group) {
  const auto row = [&](const char* name) -> const Array& { return statistics.rows(name).at(0); };
  const Array& ids = row(id_row);
  std::vector<std::string> text;
  for (const double id : ids.values) text.push_back(token_text(tokenizer, id));
  group.add_dimension(Dimension::count("token", ids.shape[0]));
  group.add_dimension(Dimension::count("rank", NextTokens::n_candidate));
  group.add(candidate_variables[text_variable], text);
  for (const char* const name : {probability_row, logit_row, effect_row}) {
    group.add(candidate_variables[name], row(name));
  }
}

void describe_next_tokens(const ResultsGroup& group, Description& description) {
  const std::vector<std::string>& text = group.texts(text_variable);
  const Array& probability = group.values(probability_row);
  const Array& effect = group.values(effect_row);
  const std::size_t first = text.size() - NextTokens::n_candidate, chosen = text.size() - 1,
                    n_head_total = effect.size() / text.size();
  std::string list;
  for (std::size_t i = first; i < chosen; ++i) {
    if (std::isnan(probability.values[i])) continue;
    list += (list.empty() ? "“" : ", “") + token_label(text[i], "a") + "” " +
            probability_text(probability.values[i]);
  }
  const bool has_chosen = !std::isnan(probability.values[chosen]);
  if (has_chosen)
    list += "; “" + token_label(text[chosen], "a") + "” " +
            probability_text(probability.values[chosen]);
  description.add("Next token", list);
  const std::size_t token = has_chosen ? chosen : first;
  const auto from = effect.values.begin() + static_cast<std::ptrdiff_t>(token * n_head_total);
  const std::vector<double> effects(from, from + static_cast<std::ptrdiff_t>(n_head_total));
  const std::size_t n_head = effect.shape.back();
  const std::string raised = pushing_heads(effects, 1, n_head),
                    lowered = pushing_heads(effects, -1, n_head);
  const std::string name = "“" + token_label(text[token], "a") + "” ";
  if (!raised.empty()) description.add(name + "raised", raised + " logits");
  if (!lowered.empty()) description.add(name + "lowered", lowered + " logits");
}

}  // namespace headscope
