#include "score_model/logit_kernel.hpp"

#include <array>

#include "base/vector_math.hpp"
#include "score_model/logit.hpp"

namespace headscope {
namespace {

/// A number for each head.
typedef double Lanes __attribute__((vector_size(64), aligned(8), may_alias));
typedef std::int64_t WholeLanes __attribute__((vector_size(64), aligned(8), may_alias));

constexpr std::size_t n_lane_numeric = n_numeric_feature + 1;  // with the lexical one

[[gnu::always_inline]] inline Lanes& lanes(double* values, std::size_t at) {
  return *reinterpret_cast<Lanes*>(values + at * n_logit_lane);
}

[[gnu::always_inline]] inline const Lanes& lanes(const double* values, std::size_t at) {
  return *reinterpret_cast<const Lanes*>(values + at * n_logit_lane);
}

[[gnu::always_inline]] inline void widen(const float* values, Lanes& to) {
  for (std::size_t l = 0; l < n_logit_lane; ++l) to[l] = static_cast<double>(values[l]);
}

/// x = e^x for x <= 0, within 2 units in the last place; at least e^-708.
[[gnu::always_inline]] inline void exponentiate_lanes(Lanes& x) {
  constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52 rounds to a whole number
  for (std::size_t l = 0; l < n_logit_lane; ++l) x[l] = x[l] < -708.0 ? -708.0 : x[l];
  const Lanes shifted = x * 1.4426950408889634 + shift;
  const Lanes nearest = shifted - shift;
  const Lanes r = (x - nearest * 0.693147180369123816490) - nearest * 1.90821492927058770002e-10;
  // Taylor's series to the 13th power: |r| <= ln 2 / 2.
  constexpr std::array<double, 14> inverse_factorial{1.0 / 6227020800,
                                                     1.0 / 479001600,
                                                     1.0 / 39916800,
                                                     1.0 / 3628800,
                                                     1.0 / 362880,
                                                     1.0 / 40320,
                                                     1.0 / 5040,
                                                     1.0 / 720,
                                                     1.0 / 120,
                                                     1.0 / 24,
                                                     1.0 / 6,
                                                     1.0 / 2,
                                                     1.0,
                                                     1.0};
  Lanes sum = r * inverse_factorial[0] + inverse_factorial[1];
  for (std::size_t i = 2; i < inverse_factorial.size(); ++i) sum = sum * r + inverse_factorial[i];
  const WholeLanes power =
      (reinterpret_cast<const WholeLanes&>(shifted) << 52) + (std::int64_t{1023} << 52);
  x = sum * reinterpret_cast<const Lanes&>(power);
}

}  // namespace

HEADSCOPE_VECTORISED void logit_scores(const LogitQuery& query, const double* theta,
                                       double* scores) {
  lanes(scores, 0) = lanes(theta, 0);
  Lanes of_numeric[n_lane_numeric];
  for (std::size_t i = 0; i < n_numeric_feature; ++i) {
    of_numeric[i] = lanes(theta, query.numeric_places[i]);
  }
  of_numeric[n_numeric_feature] = lanes(theta, query.lexical_place);
  for (std::size_t pair = 0; pair < query.n_pair; ++pair) {
    Lanes score;
    widen(query.lexical + pair * n_logit_lane, score);
    score *= of_numeric[n_numeric_feature];
    const float* const numeric = query.numeric + pair * n_numeric_feature;
    for (std::size_t i = 0; i < n_numeric_feature; ++i) {
      score += static_cast<double>(numeric[i]) * of_numeric[i];
    }
    for (std::uint32_t i = query.begin[pair]; i < query.begin[pair + 1]; ++i) {
      score += lanes(theta, query.marks[i]);
    }
    lanes(scores, pair + 1) = score;
  }
}

HEADSCOPE_VECTORISED void logit_exponentials(std::size_t n_key, double* scores, double* maximum,
                                             double* sum) {
  Lanes most = lanes(scores, 0);
  for (std::size_t key = 1; key < n_key; ++key) {
    const Lanes& score = lanes(scores, key);
    for (std::size_t l = 0; l < n_logit_lane; ++l)
      most[l] = most[l] < score[l] ? score[l] : most[l];
  }
  lanes(maximum, 0) = most;
  Lanes total{};
  for (std::size_t key = 0; key < n_key; ++key) {
    Lanes value = lanes(scores, key) - most;
    exponentiate_lanes(value);
    lanes(scores, key) = value;
    if (key > 0) total += value;
  }
  lanes(sum, 0) = total;
}

HEADSCOPE_VECTORISED void add_logit_means(const LogitQuery& query, const double* attention,
                                          double* mean) {
  lanes(mean, 0) += lanes(attention, 0);
  Lanes of_numeric[n_lane_numeric] = {};
  for (std::size_t pair = 0; pair < query.n_pair; ++pair) {
    const Lanes weight = lanes(attention, pair + 1);
    Lanes lexical;
    widen(query.lexical + pair * n_logit_lane, lexical);
    of_numeric[n_numeric_feature] += weight * lexical;
    const float* const numeric = query.numeric + pair * n_numeric_feature;
    for (std::size_t i = 0; i < n_numeric_feature; ++i) {
      of_numeric[i] += weight * static_cast<double>(numeric[i]);
    }
    for (std::uint32_t i = query.begin[pair]; i < query.begin[pair + 1]; ++i) {
      lanes(mean, query.marks[i]) += weight;
    }
  }
  for (std::size_t i = 0; i < n_numeric_feature; ++i) {
    lanes(mean, query.numeric_places[i]) += of_numeric[i];
  }
  lanes(mean, query.lexical_place) += of_numeric[n_numeric_feature];
}

HEADSCOPE_VECTORISED void add_logit_curvature(const LogitQuery& query, const double* attention,
                                              const double* mean, std::size_t n_feature,
                                              double* curvature) {
  std::array<std::size_t, n_lane_numeric> places;
  for (std::size_t i = 0; i < n_numeric_feature; ++i) places[i] = query.numeric_places[i];
  places[n_numeric_feature] = query.lexical_place;
  lanes(curvature, 0) += lanes(attention, 0);
  Lanes dense[n_lane_numeric * n_lane_numeric] = {};
  for (std::size_t pair = 0; pair < query.n_pair; ++pair) {
    const Lanes weight = lanes(attention, pair + 1);
    Lanes weighted[n_lane_numeric];
    Lanes lexical;
    widen(query.lexical + pair * n_logit_lane, lexical);
    const float* const numeric = query.numeric + pair * n_numeric_feature;
    for (std::size_t i = 0; i < n_numeric_feature; ++i) {
      weighted[i] = weight * static_cast<double>(numeric[i]);
      for (std::size_t j = 0; j <= i; ++j) {
        dense[i * n_lane_numeric + j] += weighted[i] * static_cast<double>(numeric[j]);
      }
    }
    weighted[n_numeric_feature] = weight * lexical;
    for (std::size_t j = 0; j < n_lane_numeric; ++j) {
      dense[n_numeric_feature * n_lane_numeric + j] += weighted[j] * lexical;
    }
    for (std::uint32_t i = query.begin[pair]; i < query.begin[pair + 1]; ++i) {
      double* const row = curvature + query.marks[i] * n_feature * n_logit_lane;
      for (std::uint32_t j = i; j < query.begin[pair + 1]; ++j) {
        lanes(row, query.marks[j]) += weight;
      }
      for (std::size_t j = 0; j < n_lane_numeric; ++j) lanes(row, places[j]) += weighted[j];
    }
  }
  for (std::size_t i = 0; i < n_lane_numeric; ++i) {
    double* const row = curvature + places[i] * n_feature * n_logit_lane;
    for (std::size_t j = 0; j <= i; ++j) lanes(row, places[j]) += dense[i * n_lane_numeric + j];
  }
  std::array<std::uint16_t, 4096> present;
  std::size_t n_present = 0;
  for (std::size_t feature = 0; feature < n_feature && n_present < present.size(); ++feature) {
    const double* const values = mean + feature * n_logit_lane;
    bool any = false;
    for (std::size_t l = 0; l < n_logit_lane; ++l) any = any || values[l] != 0;
    if (any) present[n_present++] = static_cast<std::uint16_t>(feature);
  }
  for (std::size_t a = 0; a < n_present; ++a) {
    const Lanes of_a = lanes(mean, present[a]);
    double* const row = curvature + present[a] * n_feature * n_logit_lane;
    for (std::size_t b = a; b < n_present; ++b) {
      lanes(row, present[b]) -= of_a * lanes(mean, present[b]);
    }
  }
}

}  // namespace headscope
