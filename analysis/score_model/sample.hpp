#pragma once

#include <set>
#include <string>
#include <vector>

#include "headscope/model.hpp"
#include "score_model/features.hpp"

/// The queries that models of attention scores are fitted to and judged by, with the features of
/// their keys.
namespace headscope {

/// Marks of a pair, for estimates of memory: as many as text with all annotation has on average.
inline constexpr std::uint64_t usual_marks = 3;

/// Queries of one piece and the marks of their keys, as statistics keep them.
struct PieceQueries {
  TokenIds tokens;             ///< of positions 0 to the last query
  std::vector<Index> queries;  ///< ascending, each >= 2
  /// Where the marks of each pair end; pairs by query, keys 1 .. query.
  std::vector<std::uint32_t> begin;
  std::vector<std::uint16_t> marks;

  PieceQueries() = default;
  PieceQueries(const Piece& piece, const FeatureList& features,
               std::vector<Index> queries_of_piece);

  /// The queries as bytes; `unpacked` reads them.
  std::string packed() const;
  static PieceQueries unpacked(const std::string& bytes);
  /// Bytes of a pair in packed().
  static constexpr std::uint64_t packed_pair_bytes =
      sizeof(unsigned char) + usual_marks * sizeof(std::uint16_t);
};

/// Positions >= 2 of a piece of `n_token` tokens.
inline Index n_query_of(Index n_token) {
  return n_token > 2 ? n_token - 2 : 0;
}

/// `count` random queries of a document, all if it has no more.
/// @param n_query  positions >= 2 of all its pieces.
/// @return their numbers among these positions, from 0.
std::set<Index> sampled_queries(Index n_query, Index count, std::uint64_t seed,
                                std::uint64_t document);

/// How often tokens occur, and their embeddings centred over the vocabulary and of length 1.
class TokenTraits {
 public:
  TokenTraits(const Model& model, std::vector<double> counts);
  /// ln(1 + count) / 5.
  float log_frequency(TokenId token) const;
  /// Centred embeddings of these tokens, d_model x token.
  Matrix directions(const TokenIds& tokens) const;

 private:
  const Model& model_;
  std::vector<double> counts_;
  arma::vec mean_;
};

/// The distinct tokens of several pieces, numbered in the order of their ids.
class TokenNumbers {
 public:
  void add(const TokenIds& tokens) { tokens_.insert(tokens_.end(), tokens.begin(), tokens.end()); }
  void complete();
  const TokenIds& tokens() const { return tokens_; }
  Index number(TokenId token) const;

 private:
  TokenIds tokens_;
};

/// Queries of one half of the corpus, or all queries of one piece, ready for fitting. A pair is a
/// query with one of its keys 1 .. q.
struct FitSample {
  struct Query {
    std::size_t first_pair = 0;
    Index query = 0;  ///< its position: keys 0 .. query
    std::size_t block = 0;
    std::size_t piece = 0;
  };
  std::vector<Query> queries = {};
  std::vector<std::uint32_t> begin = {0};  ///< marks of pair i are begin[i] to begin[i + 1]
  std::vector<std::uint16_t> marks = {};
  std::vector<float> numeric = {};    ///< pair x NumericFeature
  std::vector<TokenIds> tokens = {};  ///< of each piece

  std::size_t n_pair() const { return begin.size() - 1; }
  /// Bytes of a pair. Marks are kept in memory with room to grow.
  static constexpr std::uint64_t pair_bytes = sizeof(std::uint32_t) +
                                              2 * usual_marks * sizeof(std::uint16_t) +
                                              n_numeric_feature * sizeof(float);
  /// Adds the queries of a piece.
  void add(const PieceQueries& piece, std::size_t block, const TokenTraits& traits);
};

}  // namespace headscope
