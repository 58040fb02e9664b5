#include "compute/pack.hpp"

#include <algorithm>
#include <string>

#include "headscope/error.hpp"

namespace headscope {

Pack Pack::of_document(std::span<const TokenId> tokens) {
  Pack pack;
  pack.tokens.assign(tokens.begin(), tokens.end());
  pack.segments = {{0, tokens.size()}};
  for (Index t = 1; t < tokens.size(); ++t) pack.predictions.push_back({t - 1, tokens[t]});
  return pack;
}

void Pack::add_pair(std::span<const TokenId> a, std::span<const TokenId> b, Index n_shared,
                    bool with_last) {
  if (n_shared == 0 || n_shared > std::min(a.size(), b.size())) {
    throw ShapeError("shared tokens of a pair: expected 1 to " +
                     std::to_string(std::min(a.size(), b.size())) + ", got " +
                     std::to_string(n_shared));
  }
  const Index stem = n_column();
  const auto add = [&](std::span<const TokenId> sequence, Index from) {
    const Index first = n_column(),
                n_token = std::max<Index>(n_shared, sequence.size() - (with_last ? 0 : 1));
    if (n_token > from) {
      const std::span<const TokenId> own = sequence.subspan(from, n_token - from);
      tokens.insert(tokens.end(), own.begin(), own.end());
      segments.push_back({first, own.size(), stem, from});
    }
    for (Index t = n_shared; t < sequence.size(); ++t) {
      predictions.push_back(
          {t == n_shared ? stem + n_shared - 1 : first + t - 1 - from, sequence[t]});
    }
  };
  add(a, 0);
  add(b, n_shared);
}

void check_pack(const Pack& pack, const ModelConfig& config) {
  if (pack.tokens.empty()) throw ShapeError("tokens: expected at least 1, got 0");
  Index n_column = 0;
  for (const Pack::Segment& segment : pack.segments) {
    check_count("first column of a segment", n_column, segment.first);
    n_column += segment.count;
    const Index n_token = segment.stem_count + segment.count;
    if (n_token > config.n_ctx) {
      throw ShapeError("tokens: expected at most " + std::to_string(config.n_ctx) + ", got " +
                       std::to_string(n_token));
    }
    if (segment.stem_count > 0 && segment.stem_first + segment.stem_count > segment.first) {
      throw ShapeError("end of a segment's stem: expected at most " +
                       std::to_string(segment.first) + ", got " +
                       std::to_string(segment.stem_first + segment.stem_count));
    }
  }
  check_count("columns of a pack's segments", pack.n_column(), n_column);
  for (const Pack::Prediction& prediction : pack.predictions) {
    if (prediction.column < n_column) continue;
    throw ShapeError("column of a prediction: expected below " + std::to_string(n_column) +
                     ", got " + std::to_string(prediction.column));
  }
}

}  // namespace headscope
