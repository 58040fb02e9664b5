#include "induction.hpp"

#include <algorithm>

#include "headscope/forward.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

constexpr Index n_induction_sequence = 10;
constexpr Index longest_half = 50;

class InductionObserver : public LayerObserver {
 public:
  InductionObserver(Index half_length, Array& scores)
      : half_length_(half_length), scores_(scores) {}

  void begin_sequence(Index sequence) { sequence_ = sequence; }
  bool wants_pattern(Index /*layer*/) const override { return true; }
  void observe_layer(const LayerView& view) override {
    for (Index h = 0; h < view.pattern.n_slices; ++h) {
      scores_(sequence_, view.layer, h) = induction_mass(view.pattern.slice(h), half_length_);
    }
  }

 private:
  Index half_length_;
  Array& scores_;
  Index sequence_ = 0;
};

class PatternObserver : public LayerObserver {
 public:
  explicit PatternObserver(HeadIndex head) : head_(head) {}

  bool wants_pattern(Index layer) const override { return layer == head_.layer; }
  void observe_layer(const LayerView& view) override {
    if (view.layer == head_.layer) pattern_ = view.pattern.slice(head_.head);
  }
  const Matrix& pattern() const { return pattern_; }

 private:
  HeadIndex head_;
  Matrix pattern_;
};

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
  if (model.tokenizer_vocab && model.tokenizer_merges) {
    return Tokenizer(*model.tokenizer_vocab, *model.tokenizer_merges, model.path).end_of_text();
  }
  return static_cast<TokenId>(model.config.d_vocab - 1);
}

std::vector<TokenIds> induction_sequences(const Model& model, TokenId first_token,
                                          std::uint64_t seed) {
  const Index half_length = std::min(longest_half, (model.config.n_ctx - 1) / 2);
  return induction_sequences(model.config.d_vocab, first_token, half_length, n_induction_sequence,
                             seed);
}

Matrix head_pattern(const Model& model, const TokenIds& tokens, HeadIndex head) {
  PatternObserver observer(head);
  LayerObserver* const observers[] = {&observer};
  Forward(model).run(tokens, observers);
  return observer.pattern();
}

Array induction_scores(const Model& model, TokenId first_token, std::uint64_t seed) {
  const ModelConfig& config = model.config;
  const std::vector<TokenIds> sequences = induction_sequences(model, first_token, seed);
  Array scores({n_induction_sequence, config.n_layer, config.n_head});
  Forward forward(model);
  InductionObserver observer(sequences.front().size() / 2, scores);
  LayerObserver* const observers[] = {&observer};
  Index index = 0;
  for (const TokenIds& tokens : sequences) {
    observer.begin_sequence(index++);
    forward.run(tokens, observers);
  }
  return scores;
}

}  // namespace headscope
