#include "paths/repeated_tokens.hpp"

#include <algorithm>

#include "induction.hpp"

namespace headscope {

Task repeated_tokens_task(const Model& model, std::optional<TokenId> first_token,
                          std::uint64_t n_pair, std::uint64_t seed) {
  const ModelConfig& config = model.config;
  Task task{"repeated_random_tokens", "", {}, 0, 0};
  const Index half = std::min(longest_repeated_half, (config.longest_sequence() - 1) / 2);
  if (half < 2 || config.d_vocab <= half + 1) return task;
  const auto no_token = static_cast<TokenId>(config.d_vocab);
  const std::vector<TokenIds> sequences =
      induction_sequences(config.d_vocab, first_token.value_or(no_token), half, n_pair, seed);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const TokenIds& sequence = sequences[i];
    // The last token of the beginning, by its place in the first half.
    const Index last = 1 + i % (half - 1), other = 1 + (last + half / 2) % half;
    const auto begin = sequence.begin(), end = begin + static_cast<std::ptrdiff_t>(half + last + 1);
    TaskPair pair{{first_token ? begin : begin + 1, end}, {}, 0};
    pair.n_shared = pair.good.size();
    pair.bad = pair.good;
    pair.good.push_back(sequence[last + 1]);
    pair.bad.push_back(sequence[other]);
    task.pairs.push_back(std::move(pair));
  }
  return task;
}

}  // namespace headscope
