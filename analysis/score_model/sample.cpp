#include "score_model/sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/number_text.hpp"
#include "base/thread_errors.hpp"
#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

/// First stream of the queries of documents.
constexpr std::uint64_t query_stream = std::uint64_t{3} << 60;

template <typename Value>
void append_values(const std::vector<Value>& values, std::string& bytes) {
  const std::uint64_t count = values.size();
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  bytes.append(reinterpret_cast<const char*>(values.data()), count * sizeof(Value));
}

template <typename Value>
void take_values(const std::string& bytes, std::size_t& at, std::vector<Value>& values) {
  constexpr const char* too_few = "the sampled queries of a piece: expected more bytes";
  std::uint64_t count = 0;
  if (bytes.size() - at < sizeof count) throw Error(too_few);
  std::memcpy(&count, bytes.data() + at, sizeof count);
  at += sizeof count;
  if ((bytes.size() - at) / sizeof(Value) < count) throw Error(too_few);
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), bytes.data() + at, count * sizeof(Value));
  at += count * sizeof(Value);
}

}  // namespace

PieceQueries::PieceQueries(const Piece& piece, const FeatureList& features,
                           std::vector<Index> queries_of_piece)
    : queries(std::move(queries_of_piece)) {
  if (queries.empty()) return;
  tokens.assign(piece.tokens.begin(),
                piece.tokens.begin() + static_cast<std::ptrdiff_t>(queries.back()) + 1);
  const PieceMarks marks_of(piece, features);
  for (const Index query : queries) marks_of.add_query(query, begin, marks);
}

std::string PieceQueries::packed() const {
  std::string bytes;
  append_values(tokens, bytes);
  append_values(queries, bytes);
  // Numbers of marks, of which a key has few, in a byte each.
  std::vector<std::uint8_t> counts;
  std::uint32_t before = 0;
  for (const std::uint32_t end : begin) {
    counts.push_back(static_cast<std::uint8_t>(end - before));
    before = end;
  }
  append_values(counts, bytes);
  append_values(marks, bytes);
  return bytes;
}

PieceQueries PieceQueries::unpacked(const std::string& bytes) {
  PieceQueries piece;
  std::vector<std::uint8_t> counts;
  std::size_t at = 0;
  take_values(bytes, at, piece.tokens);
  take_values(bytes, at, piece.queries);
  take_values(bytes, at, counts);
  take_values(bytes, at, piece.marks);
  std::uint32_t end = 0;
  for (const std::uint8_t count : counts) piece.begin.push_back(end += count);
  return piece;
}

std::set<Index> sampled_queries(Index n_query, Index count, std::uint64_t seed,
                                std::uint64_t document) {
  const CounterRandom of_document(seed, query_stream + document);
  return random_subset(n_query, std::min(count, n_query), CounterRandom(of_document.value(0)));
}

TokenTraits::TokenTraits(const Model& model, std::vector<double> counts)
    : model_(model), counts_(std::move(counts)), mean_(model.config.d_model, arma::fill::zeros) {
  for (Index token = 0; token < model.W_E.n_cols; ++token) {
    const float* const embedding = model.W_E.colptr(token);
    for (Index i = 0; i < mean_.n_elem; ++i) mean_(i) += embedding[i];
  }
  mean_ /= static_cast<double>(model.W_E.n_cols);
}

float TokenTraits::log_frequency(TokenId token) const {
  return static_cast<float>(std::log1p(counts_.at(static_cast<std::size_t>(token))) / 5);
}

Matrix TokenTraits::directions(const TokenIds& tokens) const {
  Matrix directions(mean_.n_elem, tokens.size());
  for (Index t = 0; t < tokens.size(); ++t) {
    const float* const embedding = model_.W_E.colptr(static_cast<Index>(tokens[t]));
    double squares = 0;
    for (Index i = 0; i < mean_.n_elem; ++i) {
      const double centred = embedding[i] - mean_(i);
      squares += centred * centred;
    }
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (Index i = 0; i < mean_.n_elem; ++i) {
      directions(i, t) = static_cast<float>((embedding[i] - mean_(i)) * scale);
    }
  }
  return directions;
}

void TokenNumbers::complete() {
  std::ranges::sort(tokens_);
  const auto repeated = std::ranges::unique(tokens_);
  tokens_.erase(repeated.begin(), repeated.end());
}

Index TokenNumbers::number(TokenId token) const {
  return static_cast<Index>(std::ranges::lower_bound(tokens_, token) - tokens_.begin());
}

void FitSample::add(const PieceQueries& piece, std::size_t block, const TokenTraits& traits) {
  constexpr std::size_t most_marks = std::numeric_limits<std::uint32_t>::max();
  if (piece.marks.size() > most_marks - marks.size()) {
    throw OptionError("--score-queries", "expected fewer queries: their keys have more than " +
                                             grouped(most_marks) + " features");
  }
  const auto mark_base = static_cast<std::uint32_t>(marks.size());
  const std::size_t first_of_piece = n_pair();
  for (const std::uint32_t end : piece.begin) begin.push_back(mark_base + end);
  marks.insert(marks.end(), piece.marks.begin(), piece.marks.end());
  numeric.resize(n_pair() * n_numeric_feature);
  TokenNumbers types;
  types.add(piece.tokens);
  types.complete();
  const Matrix directions = traits.directions(types.tokens());
  std::vector<Index> type;
  for (const TokenId token : piece.tokens) type.push_back(types.number(token));

  std::vector<std::size_t> first_pair;
  std::size_t next = first_of_piece;
  for (const Index query : piece.queries) {
    queries.push_back({next, query, block, tokens.size()});
    first_pair.push_back(next);
    next += query;
  }
  // Cosines of a query with all types before it, several queries at once.
  constexpr Index at_once = 64;
  const Index n_group = (piece.queries.size() + at_once - 1) / at_once;
  for_each_in_parallel(n_group, Matrix(), [&](std::size_t group, Matrix& cosines) {
    const Index first = group * at_once, count = std::min(at_once, piece.queries.size() - first);
    Matrix of_queries(directions.n_rows, count);
    for (Index i = 0; i < count; ++i) {
      of_queries.col(i) = directions.col(type[piece.queries[first + i]]);
    }
    cosines.set_size(directions.n_cols, count);
    blas::multiply_serial(directions, blas::Transpose::yes, of_queries, blas::Transpose::no,
                          cosines);
    for (Index i = 0; i < count; ++i) {
      const Index query = piece.queries[first + i];
      const float* const cosine = cosines.colptr(i);
      for (Index key = 1; key <= query; ++key) {
        float* const values =
            numeric.data() + (first_pair[first + i] + key - 1) * n_numeric_feature;
        const auto distance = static_cast<double>(query - key);
        values[0] = static_cast<float>(std::log1p(distance));
        values[1] = static_cast<float>(distance / 100);
        values[2] = traits.log_frequency(piece.tokens[key]);
        values[3] = type[key] == type[query] ? 0 : cosine[type[key]];
        values[4] = key == 1 || type[key - 1] == type[query] ? 0 : cosine[type[key - 1]];
      }
    }
  });
  tokens.push_back(piece.tokens);
}

}  // namespace headscope
