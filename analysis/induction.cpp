#include "induction.hpp"

#include <algorithm>
#include <optional>

#include "headscope/analysis.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

constexpr Index n_induction_sequence = 10;

/// Tokens of a half of the longest induction sequence that the model computes.
Index half_length_of(const ModelConfig& config) {
  return std::min(longest_induction_half, (config.longest_sequence() - 1) / 2);
}

}  // namespace

std::vector<TokenIds> induction_sequences(Index d_vocab, TokenId first_token, Index half_length,
                                          Index sequence_count, std::uint64_t seed) {
  const bool all_different = d_vocab > half_length;
  std::vector<TokenIds> sequences;
  for (Index i = 0; i < sequence_count; ++i) {
    const CounterRandom random(seed, i);
    std::uint64_t counter = 0;
    TokenIds half;
    while (half.size() < half_length) {
      const auto token = static_cast<TokenId>(random.below(d_vocab, counter++));
      if (all_different &&
          (token == first_token || std::find(half.begin(), half.end(), token) != half.end())) {
        continue;
      }
      half.push_back(token);
    }
    TokenIds sequence{first_token};
    sequence.insert(sequence.end(), half.begin(), half.end());
    sequence.insert(sequence.end(), half.begin(), half.end());
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

double induction_mass(const Matrix& pattern, Index half_length) {
  double mass = 0;
  for (Index q = half_length + 1; q < pattern.n_cols; ++q) mass += pattern(q - half_length + 1, q);
  return mass / static_cast<double>(half_length);
}

TokenId induction_first_token(const Model& model, const Corpus* corpus) {
  if (corpus != nullptr) {
    const Piece first = corpus->piece(0);
    if (first.has_bos) return first.tokens.front();
  }
  const std::optional<Index> stated = model.config.first_token;
  if (stated && *stated < model.config.d_vocab) return static_cast<TokenId>(*stated);
  if (model.tokenizer_vocab && model.tokenizer_merges) {
    const Tokenizer tokenizer(*tokenizer_files_of(model));
    if (tokenizer.has_first_token()) return tokenizer.first_token();
  }
  return static_cast<TokenId>(model.config.d_vocab - 1);
}

std::vector<TokenIds> induction_sequences(const Model& model, TokenId first_token,
                                          std::uint64_t seed) {
  const Index half_length = half_length_of(model.config);
  if (half_length < shortest_induction_half) return {};
  return induction_sequences(model.config.d_vocab, first_token, half_length, n_induction_sequence,
                             seed);
}

Matrix head_pattern(const Model& model, const TokenIds& tokens, HeadIndex head) {
  Matrix pattern;
  LayerFunction observer(
      [&](const LayerView& view) {
        if (view.layer == head.layer) pattern = view.pattern.slice(head.head);
      },
      true);
  Forward(model).run(tokens, {&observer});
  return pattern;
}

Array induction_scores(const Model& model, TokenId first_token, std::uint64_t seed) {
  const ModelConfig& config = model.config;
  const std::vector<TokenIds> sequences = induction_sequences(model, first_token, seed);
  Array scores({n_induction_sequence, config.n_layer, config.n_head},
               sequences.empty() ? arma::datum::nan : 0);
  Forward forward(model);
  Index sequence = 0;
  LayerFunction observer(
      [&](const LayerView& view) {
        const Index half_length = sequences.front().size() / 2;
        for (Index h = 0; h < view.pattern.n_slices; ++h) {
          scores(sequence, view.layer, h) = induction_mass(view.pattern.slice(h), half_length);
        }
      },
      true);
  for (; sequence < sequences.size(); ++sequence) forward.run(sequences[sequence], {&observer});
  return scores;
}

std::uint64_t induction_bytes(const ModelConfig& config) {
  return Forward::bytes(config, 1 + 2 * half_length_of(config), true);
}

}  // namespace headscope
