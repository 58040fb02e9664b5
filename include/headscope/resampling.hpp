#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headscope/estimate.hpp"

/// How documents are resampled, and intervals made from the resamples.
namespace headscope {

/// The block of a document. With at most n_document_block documents, a block holds one document.
/// In a larger corpus the block is a hash of the document's number, always the same, so that a
/// corpus sorted by genre does not give blocks of one genre. All documents of a block have one
/// parity.
std::size_t document_block(std::uint64_t document, std::uint64_t n_document);

/// How many of n units a resample draws, with replacement: m = (n - 1) (1.96 / t)^2, rounded, at
/// least 1, with t the 97.5th percentile of Student's t with n - 1 degrees of freedom. The central
/// 95 % of resampled means are then Student's interval; of n draws they are 6 % narrower at n = 30.
/// Source: Hesterberg 2015, "What Teachers Should Know About the Bootstrap".
std::size_t n_drawn(std::size_t n_unit);

/// `value` with its bias-corrected accelerated 95 % interval, for statistics that jump. Bounds are
/// percentiles of its bootstrap samples, shifted by the share of samples below `value` (bias) and
/// by a sixth of the samples' skewness (acceleration). NaN samples are ignored. No interval if no
/// sample is left, or `value` is NaN. Source: Efron 1987, "Better Bootstrap Confidence Intervals".
Estimate bootstrap_estimate(double value, std::vector<double> samples);

/// The same of several values. @param samples  resample x value.
std::vector<Estimate> bootstrap_estimates(const std::vector<double>& values,
                                          const std::vector<std::vector<double>>& samples);

}  // namespace headscope
