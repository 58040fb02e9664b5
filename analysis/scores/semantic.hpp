#pragma once

#include <cstdint>
#include <vector>

#include "scores/pattern.hpp"

namespace headscope {

/// Cosines between the embeddings of a document's tokens, stored once per distinct token, with
/// random permutations of the tokens for the null.
class TokenSimilarity {
 public:
  /// @param W_E            d_model x d_vocab token embedding.
  /// @param n_permutation  replicates for the null: replicate r permutes the embeddings of the
  ///                       document's distinct tokens, drawn from CounterRandom(seed, stream + r).
  TokenSimilarity(const TokenIds& tokens, const Matrix& W_E, std::size_t n_permutation,
                  std::uint64_t seed, std::uint64_t stream);

  Index n_token() const { return type_.size(); }
  std::size_t n_permutation() const { return permutations_.size(); }

  /// Number of the distinct token at a position, by first occurrence from position 1 on; position 0
  /// has position 1's number.
  Index type(Index position) const { return type_[position]; }

  /// cos(wte_q, wte_k) for keys 0 .. q. @param similarity  overwritten from element 0.
  void column(Index query, float* similarity) const;
  /// The same with the embeddings of replicate `permutation`.
  void permuted_column(std::size_t permutation, Index query, float* similarity) const;

 private:
  std::vector<Index> type_;
  Matrix cosine_;  ///< type x type
  std::vector<std::vector<Index>> permutations_;
};

/// A query with fewer eligible keys has no score.
inline constexpr Index least_semantic_keys = 5;

/// The result of semantic_scores for one head.
struct SemanticScore {
  Ratio correlation;            ///< mean over queries of Pearson's r
  std::vector<Ratio> permuted;  ///< the same for each permutation
};

/// Mean over queries of the correlation between attention and the similarity of token embeddings,
/// over keys 1 .. q-2 whose token differs from the query's. Queries with fewer than 5 such keys, or
/// where either side is constant up to float32 rounding (1e-6), are left out.
/// @param pattern  key x query x head.
/// @return         one score per head.
std::vector<SemanticScore> semantic_scores(const Cube& pattern, const TokenSimilarity& similarity);

}  // namespace headscope
