#pragma once

#include <array>
#include <vector>

#include "headscope/analysis.hpp"

namespace headscope {

/// Inner products of heads' outputs, per space: block of documents x layer x head x head.
using BlockProducts = std::array<Array, 2>;

BlockProducts block_products(const Statistics& statistics);

/// Inner products in one space, layer x head x head: the weighted sum over blocks of documents, or
/// the plain sum without weights.
Array total_products(const Array& blocks, const BootstrapCounts& weights = {});

/// How far a further value lies from the mean of these in a share `level` of cases, if they are
/// normally distributed: t s sqrt(1 + 1 / n). NaN of one value.
double prediction_half_width(const std::vector<double>& values, double level);

/// How alike the heads of a layer write.
struct Likeness {
  std::vector<Estimate> mean_abs_cosine;  ///< space x layer: mean over pairs of different heads
  Estimate mean_abs_cosine_mean;          ///< over layers, in residual space
  Estimate output_overlap;  ///< share of heads' absolute inner products in residual space that is
                            ///< between different heads, mean over layers
};

/// Likeness in the model minus its mean over untrained models.
struct LikenessDifference : Likeness {
  /// How far a further untrained model would lie from this mean in 95 % of cases, of
  /// mean_abs_cosine_mean and output_overlap (prediction_half_width).
  double untrained_cosine = 0, untrained_overlap = 0;
};

/// Intervals over documents.
Likeness likeness_of(const Statistics& statistics, const AnalysisSettings& settings);

/// Documents and untrained models are resampled.
/// @param controls  as correlation_control_values, of equal documents.
LikenessDifference likeness_difference(const Statistics& statistics,
                                       const std::vector<ControlValues>& controls,
                                       const AnalysisSettings& settings);

/// Mean |cosine| of different heads in untrained models: control x space x layer.
Array control_cosines(const std::vector<ControlValues>& controls);

}  // namespace headscope
