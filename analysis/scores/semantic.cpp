#include "scores/semantic.hpp"

#include <cmath>
#include <unordered_map>

#include "base/thread_errors.hpp"
#include "compute/ops.hpp"
#include "headscope/blas.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

// Relative spread that float32 rounding gives to equal values.
constexpr double float_rounding = 1e-6;

/// Subtracts the mean over eligible keys and zeroes the other keys, so that products need no mask.
/// @param scale  size of the values if known; 0: their root mean square.
/// @return       the norm of the centred values; 0 if only rounding is left.
double centre(const float* values, const unsigned char* eligible, Index n_key, double n_eligible,
              double scale, float* centred) {
  double sum = 0;
  double squared_size = 0;
#pragma omp simd reduction(+ : sum, squared_size)
  for (Index k = 0; k < n_key; ++k) {
    const double value = eligible[k] != 0 ? static_cast<double>(values[k]) : 0.0;
    sum += value;
    squared_size += value * value;
  }
  const double mean = sum / n_eligible;
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (Index k = 0; k < n_key; ++k) {
    const double difference = eligible[k] != 0 ? static_cast<double>(values[k]) - mean : 0.0;
    centred[k] = static_cast<float>(difference);
    squares += difference * difference;
  }
  const double size = scale > 0 ? scale * std::sqrt(n_eligible) : std::sqrt(squared_size);
  const double norm = std::sqrt(squares);
  return norm > float_rounding * size ? norm : 0;
}

}  // namespace

TokenSimilarity::TokenSimilarity(const TokenIds& tokens, const Matrix& W_E,
                                 std::size_t n_permutation, std::uint64_t seed,
                                 std::uint64_t stream)
    : type_(tokens.size(), 0) {
  std::unordered_map<TokenId, Index> types;
  std::vector<TokenId> different;
  for (Index t = 1; t < tokens.size(); ++t) {
    const auto [entry, is_new] = types.try_emplace(tokens[t], different.size());
    if (is_new) different.push_back(tokens[t]);
    type_[t] = entry->second;
  }
  Matrix directions(W_E.n_rows, different.size());
  for (Index i = 0; i < different.size(); ++i) {
    const auto embedding = W_E.col(static_cast<Index>(different[i]));
    const float norm = arma::norm(embedding);
    directions.col(i) = embedding / (norm > 0 ? norm : 1.0f);
  }
  cosine_.set_size(different.size(), different.size());
  if (!different.empty()) {
    blas::multiply(directions, blas::Transpose::yes, directions, blas::Transpose::no, cosine_);
  }
  for (std::size_t r = 0; r < n_permutation; ++r) {
    permutations_.push_back(permutation(different.size(), CounterRandom(seed, stream + r)));
  }
}

void TokenSimilarity::column(Index query, float* similarity) const {
  const float* cosines = cosine_.colptr(type_[query]);
  for (Index k = 0; k <= query; ++k) similarity[k] = cosines[type_[k]];
}

void TokenSimilarity::permuted_column(std::size_t permutation, Index query,
                                      float* similarity) const {
  const std::vector<Index>& renamed = permutations_[permutation];
  const float* cosines = cosine_.colptr(renamed[type_[query]]);
  for (Index k = 0; k <= query; ++k) similarity[k] = cosines[renamed[type_[k]]];
}

std::vector<SemanticScore> semantic_scores(const Cube& pattern, const TokenSimilarity& similarity) {
  const Index n_token = pattern.n_cols;
  const Index n_head = pattern.n_slices;
  const std::size_t n_column = 1 + similarity.n_permutation();
  // NaN for a query that is left out. Summed in query order, so that threads change no sum.
  std::vector<double> correlation(n_token * n_head * n_column, arma::datum::nan);
  const auto first_of = [&](Index q, Index h) {
    return correlation.data() + (q * n_head + h) * n_column;
  };

  struct Workspace {
    std::vector<unsigned char> eligible;
    std::vector<float> raw, weights;
    std::vector<std::vector<float>> columns;
    std::vector<double> norms;
  };
  const std::vector<float> column(n_token);
  const Workspace empty{std::vector<unsigned char>(n_token), column, column,
                        std::vector(n_column, column), std::vector<double>(n_column)};
  for_each_in_parallel(
      n_token > 2 ? n_token - 2 : 0, empty, [&](std::size_t i, Workspace& workspace) {
        const Index q = i + 2, n_key = q - 1;  // keys 0 .. q-2
        auto& [eligible, raw, weights, columns, norms] = workspace;
        double n_eligible = 0;
        for (Index k = 0; k < n_key; ++k) {
          eligible[k] = k > 0 && similarity.type(k) != similarity.type(q) ? 1 : 0;
          n_eligible += eligible[k];
        }
        if (n_eligible < static_cast<double>(least_semantic_keys)) return;
        for (std::size_t c = 0; c < n_column; ++c) {
          if (c == 0) {
            similarity.column(q, raw.data());
          } else {
            similarity.permuted_column(c - 1, q, raw.data());
          }
          norms[c] = centre(raw.data(), eligible.data(), n_key, n_eligible, 1, columns[c].data());
        }
        for (Index h = 0; h < n_head; ++h) {
          const float* attention = pattern.slice_memptr(h) + q * pattern.n_rows;
          const double norm =
              centre(attention, eligible.data(), n_key, n_eligible, 0, weights.data());
          double* result = first_of(q, h);
          for (std::size_t c = 0; c < n_column; ++c) {
            if (norm > 0 && norms[c] > 0) {
              result[c] = dot(weights.data(), columns[c].data(), n_key) / (norm * norms[c]);
            }
          }
        }
      });

  std::vector<SemanticScore> scores(n_head, {{}, std::vector<Ratio>(n_column - 1)});
  for (Index q = 2; q < n_token; ++q) {
    for (Index h = 0; h < n_head; ++h) {
      const double* result = first_of(q, h);
      for (std::size_t c = 0; c < n_column; ++c) {
        if (std::isnan(result[c])) continue;
        (c == 0 ? scores[h].correlation : scores[h].permuted[c - 1]) += {result[c], 1};
      }
    }
  }
  return scores;
}

}  // namespace headscope
