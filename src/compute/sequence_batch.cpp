#include "compute/sequence_batch.hpp"

#include <algorithm>
#include <string>

#include "headscope/error.hpp"

namespace headscope {

SequenceBatch::SequenceBatch(std::span<const TokenId> document)
    : tokens(document.begin(), document.end()), sequences{{0, document.size()}} {
  for (Index t = 1; t < tokens.size(); ++t) predictions.push_back({t - 1, tokens[t]});
}

void SequenceBatch::add_pair(std::span<const TokenId> a, std::span<const TokenId> b, Index n_shared,
                             bool with_last) {
  if (n_shared == 0 || n_shared > std::min(a.size(), b.size())) {
    throw ShapeError("shared tokens of a pair: expected 1 to " +
                     std::to_string(std::min(a.size(), b.size())) + ", got " +
                     std::to_string(n_shared));
  }
  const Index prefix = n_column();
  const auto add = [&](std::span<const TokenId> sequence, Index from) {
    const Index first = n_column(),
                n_token = std::max<Index>(n_shared, sequence.size() - (with_last ? 0 : 1));
    if (n_token > from) {
      const std::span<const TokenId> piece = sequence.subspan(from, n_token - from);
      tokens.insert(tokens.end(), piece.begin(), piece.end());
      sequences.push_back({first, piece.size(), prefix, from});
    }
    for (Index t = n_shared; t < sequence.size(); ++t) {
      predictions.push_back(
          {t == n_shared ? prefix + n_shared - 1 : first + t - 1 - from, sequence[t]});
    }
  };
  add(a, 0);
  add(b, n_shared);
}

PredictingColumns::PredictingColumns(std::span<const SequenceBatch::Prediction> of_batch)
    : predictions(of_batch.begin(), of_batch.end()) {
  for (const SequenceBatch::Prediction& prediction : predictions) {
    columns.push_back(prediction.column);
  }
  std::ranges::sort(columns);
  columns.erase(std::ranges::unique(columns).begin(), columns.end());
  for (SequenceBatch::Prediction& prediction : predictions) {
    prediction.column =
        static_cast<Index>(std::ranges::lower_bound(columns, prediction.column) - columns.begin());
  }
}

void check_batch(const SequenceBatch& batch, const ModelConfig& config) {
  if (batch.tokens.empty()) throw ShapeError("tokens: expected at least 1, got 0");
  Index n_column = 0;
  for (const SequenceBatch::Sequence& sequence : batch.sequences) {
    check_count("first column of a sequence", n_column, sequence.first);
    n_column += sequence.count;
    const Index n_token = sequence.prefix_count + sequence.count;
    if (n_token > config.longest_sequence()) {
      throw ShapeError("tokens: expected at most " + std::to_string(config.longest_sequence()) +
                       ", got " + std::to_string(n_token));
    }
    if (sequence.prefix_count > 0 &&
        sequence.prefix_first + sequence.prefix_count > sequence.first) {
      throw ShapeError("end of a sequence's prefix: expected at most " +
                       std::to_string(sequence.first) + ", got " +
                       std::to_string(sequence.prefix_first + sequence.prefix_count));
    }
  }
  check_count("columns of a batch's sequences", batch.n_column(), n_column);
  for (const SequenceBatch::Prediction& prediction : batch.predictions) {
    check_below("column of a prediction", n_column, prediction.column);
  }
}

std::vector<Index> positions_of(std::span<const SequenceBatch::Sequence> sequences) {
  std::vector<Index> positions;
  for (const SequenceBatch::Sequence& sequence : sequences) {
    for (Index t = 0; t < sequence.count; ++t) positions.push_back(sequence.prefix_count + t);
  }
  return positions;
}

}  // namespace headscope
