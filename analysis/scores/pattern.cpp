#include "scores/pattern.hpp"

#include <algorithm>
#include <cmath>

namespace headscope {

double Ratio::value() const {
  return denominator > 0 ? numerator / denominator : arma::datum::nan;
}

Ratio& Ratio::operator+=(const Ratio& other) {
  numerator += other.numerator;
  denominator += other.denominator;
  return *this;
}

Ratio sink_mass(const Matrix& pattern) {
  Ratio mass;
  for (Index q = 1; q < pattern.n_cols; ++q) mass += {pattern(0, q), 1};
  return mass;
}

std::vector<double> query_entropy(const Matrix& pattern) {
  std::vector<double> entropy(pattern.n_cols, 0);
  for (Index q = 0; q < pattern.n_cols; ++q) {
    const float* weights = pattern.colptr(q);
    double sum = 0;
    for (Index k = 0; k <= q; ++k) {
      if (weights[k] > 0) sum -= static_cast<double>(weights[k]) * std::log(weights[k]);
    }
    entropy[q] = sum;
  }
  return entropy;
}

Ratio attention_entropy(const std::vector<double>& query_entropy) {
  Ratio entropy;
  for (Index q = 1; q < query_entropy.size(); ++q) entropy += {query_entropy[q], 1};
  return entropy;
}

Ratio attention_confidence(const Matrix& pattern) {
  Ratio confidence;
  for (Index q = 1; q < pattern.n_cols; ++q) {
    const float* weights = pattern.colptr(q);
    confidence += {*std::max_element(weights, weights + q + 1), 1};
  }
  return confidence;
}

Ratio attention_distance(const Matrix& pattern) {
  Ratio distance;
  for (Index q = 2; q < pattern.n_cols; ++q) {
    const float* weights = pattern.colptr(q);
    double mass = 0;
    double moment = 0;
#pragma omp simd reduction(+ : mass, moment)
    for (Index k = 1; k <= q; ++k) {
      mass += weights[k];
      moment += static_cast<double>(weights[k]) * static_cast<double>(static_cast<int>(q - k));
    }
    distance += {moment, mass};
  }
  return distance;
}

Ratio even_attention_distance(const Matrix& pattern) {
  Ratio distance;
  for (Index q = 2; q < pattern.n_cols; ++q) {
    const double mass = arma::accu(arma::conv_to<arma::vec>::from(pattern.col(q).subvec(1, q)));
    distance += {mass * static_cast<double>(q - 1) / 2, mass};
  }
  return distance;
}

Ratio uniform_attention_distance(Index n_token) {
  Ratio distance;
  for (Index q = 2; q < n_token; ++q) distance += {static_cast<double>(q - 1) / 2, 1};
  return distance;
}

Ratio furthest_attention_distance(Index n_token) {
  Ratio distance;
  for (Index q = 2; q < n_token; ++q) distance += {static_cast<double>(q - 1), 1};
  return distance;
}

Ratio offset_mass(const Matrix& pattern, Index offset) {
  Ratio mass;
  for (Index q = std::max<Index>(2, offset + 1); q < pattern.n_cols; ++q) {
    mass += {pattern(q - offset, q), 1};
  }
  return mass;
}

std::vector<Index> largest_keys(const Matrix& pattern) {
  std::vector<Index> largest(pattern.n_cols, no_position);
  for (Index q = 2; q < pattern.n_cols; ++q) {
    const float* weights = pattern.colptr(q);
    Index best = 1;
    for (Index k = 2; k <= q; ++k) {
      if (weights[k] >= weights[best]) best = k;
    }
    largest[q] = best;
  }
  return largest;
}

std::array<double, n_offset> largest_offset_counts(const std::vector<Index>& largest) {
  std::array<double, n_offset> counts{};
  for (Index q = 2; q < largest.size(); ++q) {
    const Index offset = q - largest[q];
    if (offset < n_offset) ++counts[offset];
  }
  return counts;
}

Ratio attention_variability(const Matrix& pattern, const arma::mat& mean_pattern) {
  Ratio variability;
  const Index n_query = std::min(pattern.n_cols, n_variability_position);
  for (Index q = 2; q < n_query; ++q) {
    for (Index k = 1; k <= q; ++k) {
      const double weight = pattern(k, q);
      variability += {std::abs(weight - mean_pattern(k, q)), 2 * weight};
    }
  }
  return variability;
}

}  // namespace headscope
