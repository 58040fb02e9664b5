#include "correlation/sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "headscope/error.hpp"
#include "parallel.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

constexpr Index tokens_at_once = 8;

/// Adds one token's inner products and cosines.
/// @param products  n x n, u_i . u_j.
void add_token(const Matrix& products, HeadProducts& sums) {
  const Index n = products.n_rows;
  arma::vec inverse_norm(n);
  for (Index i = 0; i < n; ++i) {
    const double square = products(i, i);
    inverse_norm(i) = square > 0 ? 1 / std::sqrt(square) : 0;
  }
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      sums.total(i, j) += products(i, j);
      sums.cosine(i, j) += products(i, j) * inverse_norm(i) * inverse_norm(j);
    }
  }
}

HeadProducts zero_products(Index n) {
  return {arma::mat(n, n, arma::fill::zeros), arma::mat(n, n, arma::fill::zeros)};
}

double column_norm(blas::ConstView values, Index column) {
  const float* const first = values.data + column * values.stride;
  return std::sqrt(std::inner_product(first, first + values.n_row, first, 0.0));
}

}  // namespace

HeadProducts head_space_products(blas::ConstView values, Index n_head) {
  const Index d_head = values.n_row / n_head;
  HeadProducts sums = zero_products(n_head);
  Matrix products(n_head, n_head);
  for (Index t = 1; t < values.n_col; ++t) {
    const blas::ConstView token(values.data + t * values.stride, d_head, n_head, d_head);
    blas::multiply_serial(token, blas::Transpose::yes, token, blas::Transpose::no, products);
    add_token(products, sums);
  }
  return sums;
}

HeadProducts residual_space_products(const std::vector<Matrix>& z,
                                     const std::vector<const Matrix*>& W_O, Index n_head) {
  const Index n_layer = z.size(), d_model = z[0].n_rows, n_token = z[0].n_cols;
  const Index d_head = d_model / n_head, n_unit = n_layer * n_head;
  HeadProducts sums = zero_products(n_unit);
  // d_model x n_unit for each of tokens_at_once tokens, one token after another.
  std::vector<float> outputs(d_model * n_unit * tokens_at_once);
  std::vector<double> inverse_norm(n_unit * tokens_at_once);
  const Index token_stride = d_model * n_unit;
  for (Index first = 1; first < n_token; first += tokens_at_once) {
    const Index count = std::min(tokens_at_once, n_token - first);
    parallel_for(n_unit, [&](Index unit) {
      const Index layer = unit / n_head, row = unit % n_head * d_head;
      const blas::View output(outputs.data() + unit * d_model, d_model, count, token_stride);
      blas::multiply_serial(blas::ConstView(*W_O[layer]).cols(row, d_head), blas::Transpose::no,
                            blas::ConstView(z[layer]).rows(row, d_head).cols(first, count),
                            blas::Transpose::no, output);
      for (Index t = 0; t < count; ++t) {
        const double norm = column_norm(output, t);
        inverse_norm[t * n_unit + unit] = norm > 0 ? 1 / norm : 0;
      }
    });
    // One thread adds to a layer's columns of the sums, so tokens are added in order.
    parallel_for(n_layer, [&](Index layer) {
      Matrix products(n_unit, n_head);
      for (Index t = 0; t < count; ++t) {
        const blas::ConstView token(outputs.data() + t * token_stride, d_model, n_unit, d_model);
        blas::multiply_serial(token, blas::Transpose::yes, token.cols(layer * n_head, n_head),
                              blas::Transpose::no, products);
        const double* const inverse = inverse_norm.data() + t * n_unit;
        for (Index j = 0; j < n_head; ++j) {
          const Index column = layer * n_head + j;
          for (Index i = 0; i < n_unit; ++i) {
            sums.total(i, column) += products(i, j);
            sums.cosine(i, column) += products(i, j) * inverse[i] * inverse[column];
          }
        }
      }
    });
  }
  return sums;
}

std::uint64_t residual_space_bytes(const ModelConfig& config, Index n_token, int n_thread) {
  const std::uint64_t n_unit = config.n_layer * config.n_head;
  const std::uint64_t z = config.n_layer * config.d_model * n_token,
                      outputs = config.d_model * n_unit * tokens_at_once,
                      products = static_cast<std::uint64_t>(n_thread) * n_unit * config.n_head;
  return (z + outputs + products) * sizeof(float) + 2 * n_unit * n_unit * sizeof(double);
}

arma::mat pattern_overlap(const Cube& pattern) {
  // Few queries at a time, to keep the float32 sums short.
  constexpr Index queries_at_once = 32;
  const Index n_token = pattern.n_rows, n_head = pattern.n_slices;
  arma::mat overlap(n_head, n_head, arma::fill::zeros);
  Matrix part(n_head, n_head);
  for (Index first = 1; first < pattern.n_cols; first += queries_at_once) {
    const Index count = std::min(queries_at_once, pattern.n_cols - first);
    const blas::ConstView heads(pattern.memptr() + first * n_token, count * n_token, n_head,
                                n_token * pattern.n_cols);
    blas::multiply_serial(heads, blas::Transpose::yes, heads, blas::Transpose::no, part);
    overlap += arma::conv_to<arma::mat>::from(part);
  }
  return overlap;
}

double js_distance(const float* p, const float* q, Index n) {
  double divergence = 0;
  const auto term = [](double x, double mean) { return x > 0 ? x * std::log(x / mean) : 0; };
  for (Index k = 0; k < n; ++k) {
    const double mean = 0.5 * (static_cast<double>(p[k]) + q[k]);
    divergence += 0.5 * (term(p[k], mean) + term(q[k], mean));
  }
  return std::sqrt(std::max(divergence, 0.0));
}

arma::mat linear_cka(const arma::vec& sum, const arma::mat& product, double n_token, Index n_head) {
  const Index d_head = sum.n_elem / n_head;
  const arma::mat centred = product - sum * sum.t() / n_token;
  arma::mat squares(n_head, n_head);
  for (Index i = 0; i < n_head; ++i) {
    for (Index j = 0; j < n_head; ++j) {
      const auto block =
          centred.submat(i * d_head, j * d_head, (i + 1) * d_head - 1, (j + 1) * d_head - 1);
      squares(i, j) = arma::accu(arma::square(block));
    }
  }
  return cosines(squares);
}

arma::mat cosines(const arma::mat& products) {
  arma::mat cosine = products;
  for (Index i = 0; i < products.n_rows; ++i) {
    for (Index j = 0; j < products.n_cols; ++j) {
      const double scale = std::sqrt(products(i, i) * products(j, j));
      cosine(i, j) = scale > 0 ? products(i, j) / scale : arma::datum::nan;
    }
  }
  return cosine;
}

double mean_abs_off_diagonal(const arma::mat& values) {
  double sum = 0;
  Index count = 0;
  for (Index i = 0; i < values.n_rows; ++i) {
    for (Index j = 0; j < values.n_cols; ++j) {
      if (i == j || std::isnan(values(i, j))) continue;
      sum += std::abs(values(i, j));
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : arma::datum::nan;
}

namespace {

arma::mat classical_scaling(const arma::mat& distances) {
  const Index n = distances.n_rows;
  const arma::mat centring =
      arma::eye(n, n) - arma::mat(n, n, arma::fill::value(1.0 / static_cast<double>(n)));
  const arma::mat inner = -0.5 * centring * arma::square(distances) * centring;
  arma::vec eigenvalues;
  arma::mat eigenvectors, points(n, 2, arma::fill::zeros);
  if (!arma::eig_sym(eigenvalues, eigenvectors, arma::symmatu(inner))) {
    throw Error("multidimensional scaling: the eigenvalues were not found");
  }
  for (Index axis = 0; axis < std::min<Index>(2, n); ++axis) {
    const Index which = n - 1 - axis;
    points.col(axis) = eigenvectors.col(which) * std::sqrt(std::max(eigenvalues(which), 0.0));
  }
  return points;
}

/// Points of lower stress, and that stress: a local minimum given enough steps.
std::pair<arma::mat, double> majorise(arma::mat points, const arma::mat& distances, int n_step,
                                      double tolerance) {
  const Index n = distances.n_rows;
  double stress = std::numeric_limits<double>::infinity();
  for (int step = 0; step < n_step; ++step) {
    arma::mat transform(n, n, arma::fill::zeros);
    double next_stress = 0;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j) {
        const double apart = std::hypot(points(i, 0) - points(j, 0), points(i, 1) - points(j, 1));
        next_stress += std::pow(apart - distances(i, j), 2);
        const double ratio = apart > 0 ? -distances(i, j) / apart : 0;
        transform(i, j) = transform(j, i) = ratio;
        transform(i, i) -= ratio;
        transform(j, j) -= ratio;
      }
    }
    if (stress - next_stress < tolerance * next_stress) break;
    stress = next_stress;
    points = transform * points / static_cast<double>(n);
  }
  return {points, stress};
}

}  // namespace

arma::mat metric_mds(const arma::mat& distances, const CounterRandom& random) {
  constexpr std::uint64_t n_random_start = 8;
  constexpr int n_step = 200, n_last_step = 2000;
  constexpr double tolerance = 1e-6, last_tolerance = 1e-12;
  const Index n = distances.n_rows;
  std::vector<std::pair<arma::mat, double>> found(1 + n_random_start);
  found[0] = majorise(classical_scaling(distances), distances, n_step, tolerance);
  parallel_for(n_random_start, [&](std::size_t start) {
    arma::mat points(n, 2);
    fill_normal(points.memptr(), points.n_elem, CounterRandom(random.value(start)));
    found[1 + start] = majorise(points, distances, n_step, tolerance);
  });
  const auto& best = *std::ranges::min_element(found, {}, &std::pair<arma::mat, double>::second);
  arma::mat points = majorise(best.first, distances, n_last_step, last_tolerance).first;
  for (Index axis = 0; axis < 2; ++axis) {
    const arma::vec column = points.col(axis);
    if (column.n_elem > 0 && column(arma::index_max(arma::abs(column))) < 0) points.col(axis) *= -1;
  }
  return points;
}

}  // namespace headscope
