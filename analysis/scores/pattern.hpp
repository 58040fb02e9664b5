#pragma once

#include <array>
#include <limits>
#include <vector>

#include "headscope/types.hpp"

/// Scores of one head from its attention pattern alone.
///
/// Patterns are n_token x n_token, key x query: column q is the distribution of query q over keys
/// 0 .. q, and entries with key > query are zero. Position 0 is the sink. "Sink excluded" means
/// keys 1 .. q of queries q >= 2.
namespace headscope {

/// A mean as two sums that add up over documents.
struct Ratio {
  double numerator = 0;
  double denominator = 0;

  /// numerator / denominator; NaN if the denominator is 0.
  double value() const;
  Ratio& operator+=(const Ratio& other);
};

/// Marks a missing position.
inline constexpr Index no_position = std::numeric_limits<Index>::max();

/// Attention to position 0, queries q >= 1; probability.
Ratio sink_mass(const Matrix& pattern);

/// -sum A ln A of every query over all its keys, nats; element q.
std::vector<double> query_entropy(const Matrix& pattern);

/// Mean of query_entropy over q >= 1; nats.
Ratio attention_entropy(const std::vector<double>& query_entropy);

/// Mean over q >= 1 of the largest weight, all keys; probability.
/// Source: Voita et al. 2019.
Ratio attention_confidence(const Matrix& pattern);

/// sum A (q - k) / sum A, sink excluded; tokens.
/// Source: Vig & Belinkov 2019.
Ratio attention_distance(const Matrix& pattern);

/// attention_distance of a head that gives keys 1 .. q as much attention as this one, query by
/// query, and spreads it evenly; tokens.
Ratio even_attention_distance(const Matrix& pattern);

/// attention_distance of a head that spreads evenly over the keys 1 .. q.
Ratio uniform_attention_distance(Index n_token);

/// attention_distance of a head that always attends to position 1: the largest possible.
Ratio furthest_attention_distance(Index n_token);

/// Mean A[q, q - offset], sink excluded: over the queries that have this key; probability.
Ratio offset_mass(const Matrix& pattern, Index offset);

/// Each query's key of largest weight, sink excluded; the nearest on ties. no_position for q < 2.
std::vector<Index> largest_keys(const Matrix& pattern);

inline constexpr Index n_offset = 9;

/// How many queries have their largest weight at each offset q - k of 0 .. 8.
/// @param largest  from largest_keys.
std::array<double, n_offset> largest_offset_counts(const std::vector<Index>& largest);

/// Number of first positions that variability is measured on.
inline constexpr Index n_variability_position = 10;

/// sum |A - mean A| / (2 sum A) over the first 10 positions, sink excluded: 0 for a head that
/// attends by position alone.
/// @param mean_pattern  10 x 10, key x query: the head's mean pattern over all documents.
/// Source: Vig & Belinkov 2019.
Ratio attention_variability(const Matrix& pattern, const arma::mat& mean_pattern);

}  // namespace headscope
