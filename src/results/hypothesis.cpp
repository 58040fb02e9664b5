#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "headscope/error.hpp"
#include "headscope/statistics.hpp"

namespace headscope {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool has_nan(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

bool is_constant(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values.front(); });
}

// ln n! minus Stirling's approximation.
double stirling_error(double n) {
  if (n < 16) {
    return std::log(std::tgamma(n + 1)) - (n + 0.5) * std::log(n) + n -
           0.5 * std::log(2 * std::numbers::pi);
  }
  const double square = n * n;
  return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / (1680 * square)) / square) / square) / n;
}

// x ln(x / mean) + mean - x, without cancellation near x = mean.
double deviance(double x, double mean) {
  const double difference = x - mean;
  if (std::abs(difference) < 0.1 * (x + mean)) {
    const double v = difference / (x + mean);
    double total = difference * v;
    double term = 2 * x * v;
    for (int j = 1; j < 1000; ++j) {
      term *= v * v;
      const double next = total + term / (2 * j + 1);
      if (next == total) break;
      total = next;
    }
    return total;
  }
  return x * std::log(x / mean) + mean - x;
}

// Saddle-point form: differences of large log-factorials would lose digits at 1e5 trials.
double log_binomial_mass(double k, double n, double p) {
  if (k == 0) return n * std::log1p(-p);
  if (k == n) return n * std::log(p);
  return stirling_error(n) - stirling_error(k) - stirling_error(n - k) - deviance(k, n * p) -
         deviance(n - k, n * (1 - p)) + 0.5 * std::log(n / (2 * std::numbers::pi * k * (n - k)));
}

// Mass of `k` and everything beyond it, relative to the mass of `k`.
double relative_tail_above(double k, double n, double p) {
  double term = 1, total = 1;
  for (; k < n && term > total * 1e-18; ++k) {
    term *= (n - k) / (k + 1) * (p / (1 - p));
    total += term;
  }
  return total;
}

double relative_tail_below(double k, double n, double p) {
  double term = 1, total = 1;
  for (; k > 0 && term > total * 1e-18; --k) {
    term *= k / (n - k + 1) * ((1 - p) / p);
    total += term;
  }
  return total;
}

std::vector<double> average_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
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

}  // namespace

double binomial_upper_tail(std::uint64_t successes, std::uint64_t trials, double probability) {
  if (!(probability >= 0 && probability <= 1)) {
    throw Error("binomial_upper_tail: expected a probability in [0, 1], got " +
                std::to_string(probability));
  }
  if (successes == 0) return 1;
  if (successes > trials || probability == 0) return 0;
  if (probability == 1) return 1;
  const auto k = static_cast<double>(successes), n = static_cast<double>(trials);
  if (k > n * probability) {
    return std::min(1.0, std::exp(log_binomial_mass(k, n, probability)) *
                             relative_tail_above(k, n, probability));
  }
  return 1 - std::exp(log_binomial_mass(k - 1, n, probability)) *
                 relative_tail_below(k - 1, n, probability);
}

std::vector<double> benjamini_hochberg(const std::vector<double>& p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> q(p.size(), nan);
  double smallest = 1;
  for (std::size_t rank = order.size(); rank >= 1; --rank) {
    const std::size_t i = order[rank - 1];
    smallest =
        std::min(smallest, p[i] * static_cast<double>(order.size()) / static_cast<double>(rank));
    q[i] = smallest;
  }
  return q;
}

double pearson(const std::vector<double>& x, const std::vector<double>& y) {
  check_count("values to correlate", x.size(), y.size());
  if (x.empty() || has_nan(x) || has_nan(y) || is_constant(x) || is_constant(y)) return nan;
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

double spearman(const std::vector<double>& x, const std::vector<double>& y) {
  check_count("values to correlate", x.size(), y.size());
  if (has_nan(x) || has_nan(y)) return nan;
  return pearson(average_ranks(x), average_ranks(y));
}

}  // namespace headscope
