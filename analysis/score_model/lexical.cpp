#include "score_model/lexical.hpp"

#include <algorithm>
#include <array>

#include "base/thread_errors.hpp"
#include "compute/layer.hpp"
#include "compute/ops.hpp"
#include "compute/rotary.hpp"

namespace headscope {

LexicalStream::LexicalStream(const Model& model, std::optional<TokenId> first,
                             const TokenIds& tokens, ComputeContext context)
    : model_(model),
      context_(std::move(context)),
      has_first_(first.has_value()),
      n_token_(tokens.size()) {
  const Index position = std::min(lexical_position, model.config.n_ctx / 2);
  const Index n_first = has_first_ ? 1 : 0;
  for (Index begin = 0; begin < n_token_; begin += columns_at_once) {
    const Index count = std::min(columns_at_once, n_token_ - begin);
    Matrix stream(model.config.d_model, n_first + count);
    const auto embed = [&](TokenId token, Index at, Index column) {
      stream.col(column) = model.W_E.col(static_cast<Index>(token));
      if (!model.W_P.is_empty()) stream.col(column) += model.W_P.col(at);
    };
    if (has_first_) embed(*first, 0, 0);
    for (Index t = 0; t < count; ++t) embed(tokens[begin + t], position, n_first + t);
    streams_.push_back(std::move(stream));
  }
}

LexicalLayer LexicalStream::next() {
  const ModelConfig& config = model_.config;
  const Layer layer(model_, layer_);
  const Index d_model = config.d_model, d_head = config.d_head(), n_first = has_first_ ? 1 : 0;
  const Products products = context_.passes();
  LexicalLayer result{Matrix(config.d_z(), n_token_), Matrix(config.d_z(), n_token_)};
  Index begin = 0;
  for (Matrix& stream : streams_) {
    const Index n_column = stream.n_cols, count = n_column - n_first;
    std::vector<SequenceBatch::Sequence> sequences;
    if (has_first_) sequences.push_back({.first = 0, .count = 1});
    for (Index t = n_first; t < n_column; ++t) {
      sequences.push_back({.first = t, .count = 1, .prefix_first = 0, .prefix_count = n_first});
    }
    Matrix normalized(d_model, n_column), qkv(config.d_qkv(), n_column), z(config.d_z(), n_column),
        output(d_model, n_column), hidden(config.d_in(), n_column);
    layer.ln_1.apply(stream, normalized);
    layer.attention.project(normalized, sequences, qkv, products);
    for (Index h = 0; h < config.n_head; ++h) {
      const auto rows_of_head = [&](Index row) {
        return qkv.submat(row, n_first, row + d_head - 1, n_column - 1);
      };
      const Index row = h * d_head, last_row = row + d_head - 1, last = begin + count - 1;
      result.Q.submat(row, begin, last_row, last) = rows_of_head(config.q_row(h));
      result.K.submat(row, begin, last_row, last) = rows_of_head(config.k_row(h));
    }
    layer.attention.mix(qkv, sequences, 1, z, products);
    layer.attention.write(z, output, products);
    if (config.parallel_residual) layer.ln_2.apply(stream, normalized);
    add(stream, output, stream);
    if (!config.parallel_residual) layer.ln_2.apply(stream, normalized);
    layer.mlp.apply(normalized, hidden, blas::View(hidden).rows(0, config.d_mlp), stream, products);
    begin += count;
  }
  ++layer_;
  return result;
}

std::uint64_t LexicalStream::bytes(const ModelConfig& config, Index n_token) {
  const Index at_once = std::min(n_token, columns_at_once) + 1;
  return sizeof(float) *
         ((config.d_model + 2 * config.d_z()) * (n_token + n_token / columns_at_once + 1) +
          (2 * config.d_model + config.d_qkv() + config.d_z() + config.d_in()) * at_once);
}

void lexical_scores(const ModelConfig& config, Index layer, const LexicalLayer& of_layer,
                    const TokenNumbers& numbers, const FitSample& sample, Index first,
                    std::vector<float>& scores) {
  const Index d_head = config.d_head(),
              n_lane = std::min<Index>(n_logit_lane, config.n_head - first);
  const auto scale = static_cast<float>(config.score_scale(layer));
  scores.assign(sample.n_pair() * n_logit_lane, 0);
  std::vector<std::vector<std::size_t>> of_piece(sample.tokens.size());
  for (std::size_t i = 0; i < sample.queries.size(); ++i) {
    of_piece[sample.queries[i].piece].push_back(i);
  }
  constexpr std::size_t queries_at_once = 32;
  std::vector<std::pair<std::size_t, std::size_t>> groups;  // piece and first of its queries
  for (std::size_t piece = 0; piece < of_piece.size(); ++piece) {
    for (std::size_t i = 0; i < of_piece[piece].size(); i += queries_at_once) {
      groups.emplace_back(piece, i);
    }
  }
  for_each_in_parallel(groups.size(), Scratch(), [&](std::size_t group, Scratch& scratch) {
    const auto& [piece, begin] = groups[group];
    const std::vector<std::size_t>& queries = of_piece[piece];
    const std::size_t end = std::min(queries.size(), begin + queries_at_once);
    const TokenIds& tokens = sample.tokens[piece];
    Index n_key = 0;
    for (std::size_t i = begin; i < end; ++i) {
      n_key = std::max(n_key, sample.queries[queries[i]].query + 1);
    }
    Matrix K(d_head * n_lane, n_key), Q(d_head * n_lane, end - begin), products(n_key, end - begin);
    for (Index key = 0; key < n_key; ++key) {
      std::copy_n(of_layer.K.colptr(numbers.number(tokens[key])) + first * d_head, d_head * n_lane,
                  K.colptr(key));
    }
    for (std::size_t i = begin; i < end; ++i) {
      const TokenId token = tokens[sample.queries[queries[i]].query];
      std::copy_n(of_layer.Q.colptr(numbers.number(token)) + first * d_head, d_head * n_lane,
                  Q.colptr(i - begin));
    }
    // From one position, where LexicalStream left them, to that of each: a score depends on the
    // distance alone.
    std::vector<SequenceBatch::Sequence> places;
    for (std::size_t i = begin; i < end; ++i) {
      places.push_back(
          {.first = i - begin, .count = 1, .prefix_count = sample.queries[queries[i]].query});
    }
    scratch.make_room();
    turn(config, places, Turn::forward, Q, scratch);
    const std::array<SequenceBatch::Sequence, 1> keys{{{.first = 0, .count = n_key}}};
    turn(config, keys, Turn::forward, K, scratch);
    for (Index lane = 0; lane < n_lane; ++lane) {
      blas::multiply_serial(blas::ConstView(K).rows(lane * d_head, d_head), blas::Transpose::yes,
                            blas::ConstView(Q).rows(lane * d_head, d_head), blas::Transpose::no,
                            products, scale);
      for (std::size_t i = begin; i < end; ++i) {
        const FitSample::Query& query = sample.queries[queries[i]];
        const float* const of_query = products.colptr(i - begin);
        for (Index key = 1; key <= query.query; ++key) {
          scores[(query.first_pair + key - 1) * n_logit_lane + lane] = of_query[key];
        }
      }
    }
  });
}

}  // namespace headscope
