#pragma once

#include <array>
#include <functional>
#include <vector>

#include "headscope/types.hpp"
#include "score_model/sample.hpp"

/// Conditional logit models of up to eight heads of a layer at once (McFadden 1974):
///
///   Â[q,k] = softmax over k = 0 .. q of sum over f of theta_f x_f(q, k)
///
/// Heads share all features but the lexical one, so that a feature is read once for eight heads.
namespace headscope {

inline constexpr std::size_t n_logit_lane = 8;

/// Numbers by feature and head.
using LaneValues = std::vector<double>;

/// What the heads of a fit attend to.
struct LogitProblem {
  const FitSample* sample = nullptr;
  const FeatureList* features = nullptr;
  /// Scores of the heads out of context, pair x head.
  const float* lexical = nullptr;
  /// Mean over queries of the features of what the heads attend to, sum over k of A x; by feature
  /// and head.
  LaneValues attended;
};

/// Which features a model has: by feature and head, not 0 if it has it.
using LaneMask = std::vector<unsigned char>;

struct LogitFit {
  LaneValues theta;
  std::array<double, n_logit_lane> largest_gradient{};
  /// By head, feature x feature, all features: the mean over queries of the second derivatives,
  /// without the penalty, where Newton's method last computed them.
  std::vector<arma::mat> curvature;
};

/// The penalty of a coefficient's square.
inline constexpr double logit_penalty = 1e-4;
/// A fit ends when no component of the gradient is larger.
inline constexpr double logit_tolerance = 1e-8;

/// Minimises, for each head, the mean over queries of -sum over k of A ln Â, plus
/// logit_penalty sum theta^2: strictly convex.
///
/// Newton's method; a Hessian is kept as long as steps with it shrink the gradient. Sums go by
/// parts of the sample that do not depend on the number of threads.
/// @param start  a fit to begin from, with its curvature; null: begins from 0.
LogitFit fit_logit(const LogitProblem& problem, const LaneMask& mask, const LogitFit* start);
/// Bytes that a fit takes besides its problem.
std::uint64_t logit_fit_bytes(std::size_t n_feature);

/// ln sum exp(score): over all keys, and over keys >= 1.
struct LogPartitions {
  std::vector<double> all, beyond_sink;  ///< query x head
};
LogPartitions log_partitions(const LogitProblem& problem, const LaneValues& theta);

/// Takes the attention of the models to keys 0 .. q of one query, key x head.
using TakeAttention = std::function<void(std::size_t query, const double* attention)>;
/// Calls `take` for each query, on all threads.
void for_each_attention(const LogitProblem& problem, const LaneValues& theta,
                        const TakeAttention& take);

/// The features that the models expect: sum over keys of Â x, added up over a block's queries; by
/// block, feature and head. The other part of the gradient of -ln Â, what is attended to, is left
/// out.
std::vector<LaneValues> expected_features(const LogitProblem& problem, const LaneValues& theta,
                                          std::size_t n_block_of_sample);

/// Second derivatives at theta, by head, feature x feature, without the penalty.
std::vector<arma::mat> curvature_at(const LogitProblem& problem, const LaneValues& theta);

/// Adds sum over k of A x of one query and head to `sums`, by feature.
/// @param lexical    the head's scores of the query's pairs, the first of key 1.
/// @param attention  of keys 0 .. q.
void add_attended(const FitSample& sample, const FeatureList& features, std::size_t query,
                  const float* lexical, const float* attention, double* sums);

}  // namespace headscope
