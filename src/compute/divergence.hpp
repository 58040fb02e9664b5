#pragma once

#include "headscope/types.hpp"

namespace headscope {

/// Jensen-Shannon divergence in nats between two distributions over `n` keys, from 0 to ln 2.
///
///   sum over keys of m ((1 + r) ln(1 + r) + (1 - r) ln(1 - r)) / 2,  m = (p + q) / 2,  r = (p - q)
///   / (p + q)
///
/// No term is negative, so that small divergences keep their relative accuracy: within 1e-6 of the
/// exact value for these float32 numbers. Exactly 0 for equal distributions.
/// Source: Lin 1991, "Divergence Measures Based on the Shannon Entropy".
double js_divergence(const float* p, const float* q, Index n);

}  // namespace headscope
