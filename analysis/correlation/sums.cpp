#include "correlation/sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/thread_errors.hpp"
#include "compute/divergence.hpp"
#include "headscope/error.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

constexpr Index tokens_at_once = 8;
// Columns of products of all heads at once: wide enough for full speed.
constexpr Index heads_at_once = 96;

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

/// Calls `take(outputs, count)` for a few tokens at a time, from position 1 on; outputs are d_model
/// x count for each head, one head after another.
template <typename Take>
void for_each_outputs(std::span<const Matrix> z, std::span<const Matrix* const> W_O, Index n_head,
                      const Take& take) {
  const Index n_layer = z.size(), d_model = W_O[0]->n_rows, n_token = z[0].n_cols,
              d_head = z[0].n_rows / n_head;
  std::vector<float> outputs(d_model * n_layer * n_head * tokens_at_once);
  for (Index first = 1; first < n_token; first += tokens_at_once) {
    const Index count = std::min(tokens_at_once, n_token - first);
    for_each_in_parallel(n_layer * n_head, [&](Index head_index) {
      const Index layer = head_index / n_head, row = head_index % n_head * d_head;
      const blas::View output(outputs.data() + head_index * d_model * count, d_model, count,
                              d_model);
      blas::multiply_serial(blas::ConstView(*W_O[layer]).cols(row, d_head), blas::Transpose::no,
                            blas::ConstView(z[layer]).rows(row, d_head).cols(first, count),
                            blas::Transpose::no, output);
    });
    take(outputs, count);
  }
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

HeadProducts residual_space_products(const Matrix& z, const Matrix& W_O, Index n_head) {
  HeadProducts sums = zero_products(n_head);
  const Index d_model = W_O.n_rows;
  Matrix products(n_head, n_head);
  const Matrix* const weights[] = {&W_O};
  for_each_outputs(
      std::span(&z, 1), weights, n_head, [&](const std::vector<float>& outputs, Index count) {
        for (Index t = 0; t < count; ++t) {
          const blas::ConstView token(outputs.data() + t * d_model, d_model, n_head,
                                      count * d_model);
          blas::multiply(token, blas::Transpose::yes, token, blas::Transpose::no, products);
          add_token(products, sums);
        }
      });
  return sums;
}

arma::mat residual_space_totals(const std::vector<Matrix>& z, const std::vector<const Matrix*>& W_O,
                                Index n_head) {
  const Index n_layer = z.size(), n_head_total = n_layer * n_head;
  arma::mat total(n_head_total, n_head_total, arma::fill::zeros);
  for_each_outputs(z, W_O, n_head, [&](const std::vector<float>& outputs, Index count) {
    // The tokens' outputs below one another: one product sums over features and tokens.
    const Index n_value = W_O[0]->n_rows * count;
    const blas::ConstView all(outputs.data(), n_value, n_head_total, n_value);
    const Index n_part = (n_head_total + heads_at_once - 1) / heads_at_once;
    // The sums are symmetric: each part of the columns has the rows down to its own. The longest
    // parts go first. One thread adds to a column, so that tokens are added in order.
    for_each_in_parallel(n_part, Matrix(), [&](std::size_t part, Matrix& products) {
      const Index first = (n_part - 1 - part) * heads_at_once,
                  width = std::min(heads_at_once, n_head_total - first), n_row = first + width;
      products.set_size(n_row, width);
      blas::multiply_serial(all.cols(0, n_row), blas::Transpose::yes, all.cols(first, width),
                            blas::Transpose::no, products);
      for (Index j = 0; j < width; ++j) {
        for (Index i = 0; i < n_row; ++i) total(i, first + j) += products(i, j);
      }
    });
  });
  return arma::symmatu(total);
}

std::uint64_t residual_space_bytes(const ModelConfig& config, Index n_token, int n_thread) {
  const std::uint64_t n_head_total = config.n_layer * config.n_head;
  const std::uint64_t z = config.n_layer * config.d_z() * n_token,
                      outputs = config.d_model * n_head_total * tokens_at_once,
                      products =
                          static_cast<std::uint64_t>(n_thread) * n_head_total * heads_at_once;
  return (z + outputs + products) * sizeof(float) +
         2 * n_head_total * n_head_total * sizeof(double);
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
  return std::sqrt(js_divergence(p, q, n));
}

std::vector<double> product_triangle(blas::ConstView z) {
  const Index d_z = z.n_row;
  const auto n_token = static_cast<double>(z.n_col);
  arma::vec sum(d_z, arma::fill::zeros), left_over(d_z, arma::fill::zeros);
  for (Index t = 0; t < z.n_col; ++t) {
    for (Index i = 0; i < d_z; ++i) sum(i) += z.data[t * z.stride + i];
  }
  const arma::fvec mean = arma::conv_to<arma::fvec>::from(sum / n_token);
  Matrix differences(d_z, z.n_col, arma::fill::none);
  for (Index t = 0; t < z.n_col; ++t) {
    for (Index i = 0; i < d_z; ++i) {
      differences(i, t) = z.data[t * z.stride + i] - mean(i);
      left_over(i) += differences(i, t);  // the mean is rounded
    }
  }
  Matrix product(d_z, d_z, arma::fill::none);
  blas::multiply(differences, blas::Transpose::no, differences, blas::Transpose::yes, product);
  std::vector<double> triangle;
  triangle.reserve(triangle_size(d_z));
  for (Index j = 0; j < d_z; ++j) {
    for (Index i = j; i < d_z; ++i) {
      const double of_i = mean(i), of_j = mean(j);
      triangle.push_back(product(i, j) + of_i * left_over(j) + left_over(i) * of_j +
                         n_token * of_i * of_j);
    }
  }
  return triangle;
}

arma::mat from_lower_triangle(const std::vector<double>& triangle, Index n) {
  check_count("elements of a triangle", triangle_size(n), triangle.size());
  arma::mat symmetric(n, n);
  auto value = triangle.begin();
  for (Index j = 0; j < n; ++j) {
    for (Index i = j; i < n; ++i) symmetric(i, j) = symmetric(j, i) = *value++;
  }
  return symmetric;
}

arma::mat linear_cka(const arma::vec& sum, const arma::mat& product, double n_token, Index n_head) {
  const Index d_head = sum.n_elem / n_head;
  const arma::mat centred = product - sum * sum.t() / n_token;
  arma::mat squares(n_head, n_head);
  const auto trace = [&](const arma::mat& of, Index head) {
    const Index first = head * d_head, last = first + d_head - 1;
    return arma::trace(of.submat(first, first, last, last));
  };
  // Outputs that vary by no more than float32 rounds them are constant.
  constexpr double rounding = 1e-12;
  std::vector<bool> is_constant;
  for (Index head = 0; head < n_head; ++head) {
    is_constant.push_back(trace(centred, head) <= rounding * trace(product, head));
  }
  for (Index i = 0; i < n_head; ++i) {
    for (Index j = 0; j < n_head; ++j) {
      const auto block =
          centred.submat(i * d_head, j * d_head, (i + 1) * d_head - 1, (j + 1) * d_head - 1);
      squares(i, j) = is_constant[i] || is_constant[j] ? 0 : arma::accu(arma::square(block));
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

/// Adds one head's share of a step: its pairs with the heads before it.
/// @return  their squared errors.
double add_pairs(const double* x, const double* y, const double* distance, Index i, double* next_x,
                 double* next_y) {
  const double x_i = x[i], y_i = y[i];
  double sum_x = 0, sum_y = 0, squares = 0;
#pragma omp simd reduction(+ : sum_x, sum_y, squares)
  for (Index j = 0; j < i; ++j) {
    const double dx = x_i - x[j], dy = y_i - y[j], apart = std::sqrt(dx * dx + dy * dy);
    // Finite where two points are one, and so without effect.
    const double ratio = distance[j] / (apart + 1e-300);
    sum_x += ratio * dx;
    sum_y += ratio * dy;
    next_x[j] -= ratio * dx;
    next_y[j] -= ratio * dy;
    squares += (apart - distance[j]) * (apart - distance[j]);
  }
  next_x[i] += sum_x;
  next_y[i] += sum_y;
  return squares;
}

/// Points of lower stress, and that stress: a local minimum given enough steps.
std::pair<arma::mat, double> majorise(arma::mat points, const arma::mat& distances, int n_step,
                                      double tolerance) {
  const Index n = distances.n_rows;
  double stress = std::numeric_limits<double>::infinity();
  arma::mat next(n, 2);
  for (int step = 0; step < n_step; ++step) {
    double next_stress = 0;
    next.zeros();
    for (Index i = 0; i < n; ++i) {
      next_stress += add_pairs(points.colptr(0), points.colptr(1), distances.colptr(i), i,
                               next.colptr(0), next.colptr(1));
    }
    if (stress - next_stress < tolerance * next_stress) break;
    stress = next_stress;
    next /= static_cast<double>(n);
    points.swap(next);
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
  for_each_in_parallel(n_random_start, [&](std::size_t start) {
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
