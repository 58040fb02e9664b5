#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "headscope/error.hpp"
#include "headscope/statistics.hpp"

namespace headscope {
namespace {

bool has_nan(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

bool is_constant(const std::vector<double>& values) {
  return std::ranges::all_of(values, [&](double value) { return value == values.front(); });
}

std::vector<double> average_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    const double rank = 0.5 * static_cast<double>(first + last) + 1;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = rank;
    first = last + 1;
  }
  return ranks;
}

// Neither side is constant.
double pearson(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

}  // namespace

double paired_t_p(double n, double sum, double sum_of_squares) {
  if (!(n >= 2)) return arma::datum::nan;
  const double mean = sum / n, variance = (sum_of_squares - sum * mean) / (n - 1);
  if (std::isnan(variance)) return arma::datum::nan;
  if (!(variance > 0)) return sum == 0 ? 1 : 0;
  const double t = mean / std::sqrt(variance / n);
  return 2 * cdf(complement(boost::math::students_t_distribution<>(n - 1), std::abs(t)));
}

std::vector<double> benjamini_hochberg(const std::vector<double>& p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> q(p.size(), arma::datum::nan);
  double smallest = 1;
  for (std::size_t rank = order.size(); rank >= 1; --rank) {
    const std::size_t i = order[rank - 1];
    smallest =
        std::min(smallest, p[i] * static_cast<double>(order.size()) / static_cast<double>(rank));
    q[i] = smallest;
  }
  return q;
}

double spearman(const std::vector<double>& x, const std::vector<double>& y) {
  check_count("values to correlate", x.size(), y.size());
  if (x.empty() || has_nan(x) || has_nan(y) || is_constant(x) || is_constant(y)) {
    return arma::datum::nan;
  }
  return pearson(average_ranks(x), average_ranks(y));
}

}  // namespace headscope
