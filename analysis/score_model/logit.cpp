#include "score_model/logit.hpp"

#include <algorithm>
#include <cmath>

#include "base/thread_errors.hpp"
#include "score_model/logit_kernel.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_parts = 16, least_part_queries = 16;
constexpr std::size_t most_steps = 200, most_halvings = 40;
/// A curvature is computed again when a step with it shrinks the gradient less than this.
constexpr double worst_shrinking = 0.15;

std::size_t at(std::size_t feature, std::size_t lane) {
  return feature * n_logit_lane + lane;
}

/// The kernels' view of queries, with the scratch memory for one query.
class LogitQueries {
 public:
  explicit LogitQueries(const LogitProblem& problem)
      : problem_(&problem), n_feature_(problem.features->size()) {
    for (std::size_t i = 0; i < n_numeric_feature; ++i) {
      numeric_places_[i] = problem.features->numeric(static_cast<NumericFeature>(i));
    }
    lexical_place_ = problem.features->lexical();
  }

  LogitQuery of(std::size_t query) const {
    const FitSample& sample = *problem_->sample;
    const FitSample::Query& place = sample.queries[query];
    return {sample.begin.data() + place.first_pair,
            sample.marks.data(),
            sample.numeric.data() + place.first_pair * n_numeric_feature,
            problem_->lexical + place.first_pair * n_logit_lane,
            place.query,
            numeric_places_.data(),
            lexical_place_};
  }

  /// Attention of the models at theta, key x head. @return by head ln of the sums over all keys,
  /// then over keys from 1 on.
  std::array<double, 2 * n_logit_lane> attend(const LogitQuery& query, const LaneValues& theta) {
    const std::size_t n_key = query.n_pair + 1;
    attention_.resize(n_key * n_logit_lane);
    logit_scores(query, theta.data(), attention_.data());
    std::array<double, n_logit_lane> maximum, beyond;
    logit_exponentials(n_key, attention_.data(), maximum.data(), beyond.data());
    std::array<double, n_logit_lane> scale;
    std::array<double, 2 * n_logit_lane> log_sums;
    for (std::size_t l = 0; l < n_logit_lane; ++l) {
      const double all = attention_[l] + beyond[l];
      scale[l] = 1 / all;
      log_sums[l] = maximum[l] + std::log(all);
      log_sums[n_logit_lane + l] = maximum[l] + std::log(beyond[l]);
    }
    for (std::size_t key = 0; key < n_key; ++key) {
      for (std::size_t l = 0; l < n_logit_lane; ++l) attention_[key * n_logit_lane + l] *= scale[l];
    }
    return log_sums;
  }

  const double* attention() const { return attention_.data(); }

  /// Mean features of a query under the attention, feature x head.
  const LaneValues& mean(const LogitQuery& query) {
    mean_.assign(n_feature_ * n_logit_lane, 0);
    add_logit_means(query, attention_.data(), mean_.data());
    return mean_;
  }

 private:
  const LogitProblem* problem_;
  std::size_t n_feature_;
  std::array<std::uint16_t, n_numeric_feature> numeric_places_{};
  std::uint16_t lexical_place_ = 0;
  LaneValues attention_, mean_;
};

/// Consecutive queries with about as many pairs as any other part; the first query of each and the
/// number of queries.
std::vector<std::size_t> parts_of(const FitSample& sample) {
  const std::size_t n_query = sample.queries.size();
  const std::size_t n_part = std::clamp<std::size_t>(n_query / least_part_queries, 1, most_parts);
  std::vector<std::size_t> first{0};
  for (std::size_t part = 1; part < n_part; ++part) {
    const std::size_t pair = part * sample.n_pair() / n_part;
    const auto next =
        std::ranges::lower_bound(sample.queries, pair, {}, &FitSample::Query::first_pair);
    first.push_back(static_cast<std::size_t>(next - sample.queries.begin()));
  }
  first.push_back(n_query);
  return first;
}

/// Value and derivatives of the mean over queries, for all heads.
struct Derivatives {
  std::array<double, n_logit_lane> value{};
  LaneValues gradient;
  std::vector<arma::mat> curvature;
};

/// Computes derivatives, and keeps the memory for them.
class LogitObjective {
 public:
  explicit LogitObjective(const LogitProblem& problem)
      : problem_(problem),
        n_feature_(problem.features->size()),
        parts_(parts_of(*problem.sample)),
        sums_(parts_.size() - 1) {}

  Derivatives at_theta(const LaneValues& theta, bool with_curvature) {
    for_each_in_parallel(sums_.size(),
                         [&](std::size_t part) { add_part(part, theta, with_curvature); });
    const double n_query = static_cast<double>(problem_.sample->queries.size());
    Derivatives result;
    result.gradient.assign(theta.size(), 0);
    for (const PartSums& sums : sums_) {
      for (std::size_t l = 0; l < n_logit_lane; ++l) result.value[l] += sums.log_sum[l] / n_query;
      for (std::size_t v = 0; v < theta.size(); ++v) result.gradient[v] += sums.mean[v] / n_query;
    }
    for (std::size_t v = 0; v < theta.size(); ++v) {
      result.value[v % n_logit_lane] +=
          theta[v] * (logit_penalty * theta[v] - problem_.attended[v]);
      result.gradient[v] += 2 * logit_penalty * theta[v] - problem_.attended[v];
    }
    if (!with_curvature) return result;
    result.curvature.assign(n_logit_lane, arma::mat(n_feature_, n_feature_, arma::fill::zeros));
    for_each_in_parallel(n_logit_lane, [&](std::size_t lane) {
      arma::mat& curvature = result.curvature[lane];
      for (const PartSums& sums : sums_) {
        for (std::size_t a = 0; a < n_feature_; ++a) {
          for (std::size_t b = 0; b < n_feature_; ++b) {
            curvature(a, b) += sums.curvature[(a * n_feature_ + b) * n_logit_lane + lane];
          }
        }
      }
      const arma::vec diagonal = curvature.diag();
      curvature += arma::mat(curvature.t());
      curvature.diag() = diagonal;
      curvature /= n_query;
    });
    return result;
  }

 private:
  struct PartSums {
    std::array<double, n_logit_lane> log_sum{};
    LaneValues mean, curvature;
  };
  void add_part(std::size_t part, const LaneValues& theta, bool with_curvature) {
    PartSums& sums = sums_[part];
    sums.log_sum = {};
    sums.mean.assign(n_feature_ * n_logit_lane, 0);
    if (with_curvature) sums.curvature.assign(n_feature_ * n_feature_ * n_logit_lane, 0);
    LogitQueries queries(problem_);
    for (std::size_t i = parts_[part]; i < parts_[part + 1]; ++i) {
      const LogitQuery query = queries.of(i);
      const auto log_sums = queries.attend(query, theta);
      for (std::size_t l = 0; l < n_logit_lane; ++l) sums.log_sum[l] += log_sums[l];
      const LaneValues& mean = queries.mean(query);
      for (std::size_t v = 0; v < mean.size(); ++v) sums.mean[v] += mean[v];
      if (!with_curvature) continue;
      add_logit_curvature(query, queries.attention(), mean.data(), n_feature_,
                          sums.curvature.data());
    }
  }

  const LogitProblem& problem_;
  std::size_t n_feature_;
  std::vector<std::size_t> parts_;
  std::vector<PartSums> sums_;
};

/// Newton steps of one head by a curvature that is kept.
class NewtonLane {
 public:
  NewtonLane(const LaneMask& mask, std::size_t lane, std::size_t n_feature) : lane_(lane) {
    for (std::size_t f = 0; f < n_feature; ++f) {
      if (mask[at(f, lane)] != 0) features_.push_back(f);
    }
  }

  void set_curvature(const arma::mat& curvature) {
    if (features_.empty()) return;
    const arma::uvec chosen(features_);
    arma::mat of_model = curvature(chosen, chosen);
    of_model.diag() += 2 * logit_penalty;
    factor_ = arma::chol(of_model);
  }

  double largest(const LaneValues& gradient) const {
    double most = 0;
    for (const arma::uword f : features_) most = std::max(most, std::abs(gradient[at(f, lane_)]));
    return most;
  }

  /// Sets the step. @return the slope along it.
  double set_step(const LaneValues& gradient) {
    arma::vec slope(features_.size());
    for (std::size_t i = 0; i < features_.size(); ++i) slope(i) = gradient[at(features_[i], lane_)];
    step_ = -arma::solve(arma::trimatu(factor_),
                         arma::vec(arma::solve(arma::trimatl(arma::mat(factor_.t())), slope)));
    return arma::dot(slope, step_);
  }

  void move(double length, const LaneValues& from, LaneValues& to) const {
    for (std::size_t i = 0; i < features_.size(); ++i) {
      to[at(features_[i], lane_)] = from[at(features_[i], lane_)] + length * step_(i);
    }
  }

 private:
  std::size_t lane_;
  std::vector<arma::uword> features_;
  arma::mat factor_;
  arma::vec step_;
};

/// One step of all heads whose gradient is too large, halved where the value does not fall.
/// @return the derivatives at theta, which is moved.
Derivatives take_step(LogitObjective& objective, const Derivatives& before,
                      std::vector<NewtonLane>& lanes, const std::array<bool, n_logit_lane>& moves,
                      LaneValues& theta) {
  std::array<double, n_logit_lane> slope{}, length;
  length.fill(1);
  for_each_in_parallel(n_logit_lane, [&](std::size_t l) {
    if (moves[l]) slope[l] = lanes[l].set_step(before.gradient);
  });
  LaneValues trial = theta;
  Derivatives after;
  for (std::size_t halving = 0; halving < most_halvings; ++halving) {
    for (std::size_t l = 0; l < n_logit_lane; ++l) {
      if (moves[l]) lanes[l].move(length[l], theta, trial);
    }
    after = objective.at_theta(trial, false);
    bool all_fall = true;
    for (std::size_t l = 0; l < n_logit_lane; ++l) {
      const double rounding = 1e-13 * (1 + std::abs(before.value[l]));
      if (!moves[l] || after.value[l] <= before.value[l] + 1e-4 * length[l] * slope[l] + rounding) {
        continue;
      }
      length[l] /= 2;
      all_fall = false;
    }
    if (all_fall) break;
  }
  theta = trial;
  return after;
}

}  // namespace

LogitFit fit_logit(const LogitProblem& problem, const LaneMask& mask, const LogitFit* start) {
  const std::size_t n_feature = problem.features->size();
  LogitObjective objective(problem);
  LogitFit fit;
  fit.theta.assign(n_feature * n_logit_lane, 0);
  if (start != nullptr) {
    for (std::size_t v = 0; v < mask.size(); ++v) {
      if (mask[v] != 0) fit.theta[v] = start->theta[v];
    }
  }
  std::vector<NewtonLane> lanes;
  for (std::size_t l = 0; l < n_logit_lane; ++l) lanes.emplace_back(mask, l, n_feature);
  Derivatives now = objective.at_theta(fit.theta, start == nullptr);
  fit.curvature = start == nullptr ? now.curvature : start->curvature;
  const auto set_curvatures = [&] {
    for_each_in_parallel(n_logit_lane,
                         [&](std::size_t l) { lanes[l].set_curvature(fit.curvature[l]); });
  };
  set_curvatures();
  for (std::size_t step = 0; step < most_steps; ++step) {
    std::array<bool, n_logit_lane> moves{};
    for (std::size_t l = 0; l < n_logit_lane; ++l) {
      fit.largest_gradient[l] = lanes[l].largest(now.gradient);
      moves[l] = fit.largest_gradient[l] > logit_tolerance;
    }
    if (std::ranges::none_of(moves, std::identity())) break;
    now = take_step(objective, now, lanes, moves, fit.theta);
    bool is_slow = false;
    for (std::size_t l = 0; l < n_logit_lane; ++l) {
      const double largest = lanes[l].largest(now.gradient);
      is_slow = is_slow || (moves[l] && largest > logit_tolerance &&
                            largest > worst_shrinking * fit.largest_gradient[l]);
    }
    if (!is_slow) continue;
    now = objective.at_theta(fit.theta, true);
    fit.curvature = now.curvature;
    set_curvatures();
  }
  return fit;
}

std::uint64_t logit_fit_bytes(std::size_t n_feature) {
  // Curvatures: of each part of the sample, their sum, that of the fit and its factors.
  return (most_parts + 3) * n_feature * n_feature * n_logit_lane * sizeof(double);
}

LogPartitions log_partitions(const LogitProblem& problem, const LaneValues& theta) {
  const std::size_t n_query = problem.sample->queries.size();
  LogPartitions partitions;
  partitions.all.resize(n_query * n_logit_lane);
  partitions.beyond_sink.resize(n_query * n_logit_lane);
  for_each_in_parallel(n_query, LogitQueries(problem), [&](std::size_t i, LogitQueries& queries) {
    const auto log_sums = queries.attend(queries.of(i), theta);
    std::copy_n(log_sums.begin(), n_logit_lane,
                partitions.all.begin() + static_cast<std::ptrdiff_t>(i * n_logit_lane));
    std::copy_n(log_sums.begin() + n_logit_lane, n_logit_lane,
                partitions.beyond_sink.begin() + static_cast<std::ptrdiff_t>(i * n_logit_lane));
  });
  return partitions;
}

void for_each_attention(const LogitProblem& problem, const LaneValues& theta,
                        const TakeAttention& take) {
  for_each_in_parallel(problem.sample->queries.size(), LogitQueries(problem),
                       [&](std::size_t i, LogitQueries& queries) {
                         queries.attend(queries.of(i), theta);
                         take(i, queries.attention());
                       });
}

std::vector<LaneValues> expected_features(const LogitProblem& problem, const LaneValues& theta,
                                          std::size_t n_block_of_sample) {
  std::vector<std::vector<std::size_t>> of_block(n_block_of_sample);
  for (std::size_t i = 0; i < problem.sample->queries.size(); ++i) {
    of_block[problem.sample->queries[i].block].push_back(i);
  }
  std::vector<LaneValues> sums(n_block_of_sample, LaneValues(theta.size(), 0));
  for_each_in_parallel(n_block_of_sample, LogitQueries(problem),
                       [&](std::size_t block, LogitQueries& queries) {
                         for (const std::size_t i : of_block[block]) {
                           const LogitQuery query = queries.of(i);
                           queries.attend(query, theta);
                           add_logit_means(query, queries.attention(), sums[block].data());
                         }
                       });
  return sums;
}

std::vector<arma::mat> curvature_at(const LogitProblem& problem, const LaneValues& theta) {
  return LogitObjective(problem).at_theta(theta, true).curvature;
}

void add_attended(const FitSample& sample, const FeatureList& features, std::size_t query,
                  const float* lexical, const float* attention, double* sums) {
  const FitSample::Query& place = sample.queries[query];
  std::array<double, n_numeric_feature> of_numeric{};
  double of_lexical = 0;
  sums[0] += static_cast<double>(attention[0]);
  for (std::size_t i = 0; i < place.query; ++i) {
    const std::size_t pair = place.first_pair + i;
    const double weight = attention[i + 1];
    of_lexical += weight * static_cast<double>(lexical[i]);
    for (std::size_t n = 0; n < n_numeric_feature; ++n) {
      of_numeric[n] += weight * static_cast<double>(sample.numeric[pair * n_numeric_feature + n]);
    }
    for (std::uint32_t m = sample.begin[pair]; m < sample.begin[pair + 1]; ++m) {
      sums[sample.marks[m]] += weight;
    }
  }
  for (std::size_t n = 0; n < n_numeric_feature; ++n) {
    sums[features.numeric(static_cast<NumericFeature>(n))] += of_numeric[n];
  }
  sums[features.lexical()] += of_lexical;
}

}  // namespace headscope
