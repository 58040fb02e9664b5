#pragma once

#include <cstddef>
#include <cstdint>

namespace headscope {

/// One query with the features of its keys, for eight heads. Pair i is that with key i + 1.
struct LogitQuery {
  const std::uint32_t* begin;  ///< marks of pair i: begin[i] to begin[i + 1]
  const std::uint16_t* marks;
  const float* numeric;  ///< pair x numeric feature
  const float* lexical;  ///< pair x head
  std::size_t n_pair;
  const std::uint16_t* numeric_places;  ///< of the numeric features
  std::uint16_t lexical_place;
};

/// Scores of keys 0 .. n_pair. The sink's feature is the first.
/// @param theta   feature x head.
/// @param scores  key x head, overwritten.
void logit_scores(const LogitQuery& query, const double* theta, double* scores);

/// Turns scores into exp(score - maximum), in place.
/// @param maximum, sum  by head, overwritten; `sum` that of the exponentials of keys from 1 on.
void logit_exponentials(std::size_t n_key, double* scores, double* maximum, double* sum);

/// Adds to `mean`, feature x head, the features weighted by attention.
/// @param attention  key x head.
void add_logit_means(const LogitQuery& query, const double* attention, double* mean);

/// Adds to `curvature`, feature x feature x head, the features' covariance under the attention. For
/// f != g it is the sum of entries (f, g) and (g, f).
/// @param mean  of the query.
void add_logit_curvature(const LogitQuery& query, const double* attention, const double* mean,
                         std::size_t n_feature, double* curvature);

}  // namespace headscope
