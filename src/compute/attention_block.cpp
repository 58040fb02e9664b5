#include "compute/attention_block.hpp"

#include <algorithm>
#include <limits>

#include "headscope/ops.hpp"

namespace headscope {
namespace {

// Column `query` of scores becomes a distribution over the keys that the mask allows.
void normalize_query(const AttentionMask& mask, Index query, float* scores, Index n_key) {
  Index n_seen = n_key;
  if (mask.kind == MaskKind::causal) {
    n_seen = std::min(query + 1, n_key);
    std::fill(scores + n_seen, scores + n_key, 0.0F);
  } else if (mask.kind == MaskKind::custom) {
    const unsigned char* const allowed = mask.allowed.colptr(query);
    for (Index k = 0; k < n_key; ++k) {
      if (allowed[k] == 0) scores[k] = -std::numeric_limits<float>::infinity();
    }
  }
  softmax(scores, n_seen);
}

}  // namespace

Index pattern_block(const HeadInputs& head, const AttentionMask& mask, Index first, Index count,
                    blas::View pattern) {
  const Index n_key =
      mask.kind == MaskKind::causal ? std::min(first + count, head.K.n_col) : head.K.n_col;
  blas::multiply_serial(head.K.cols(0, n_key), blas::Transpose::yes, head.Q.cols(first, count),
                        blas::Transpose::no, pattern.rows(0, n_key), head.scale);
  for (Index q = 0; q < count; ++q) {
    float* const scores = pattern.data + q * pattern.stride;
    normalize_query(mask, first + q, scores, n_key);
    std::fill(scores + n_key, scores + pattern.n_row, 0.0F);
  }
  return n_key;
}

void attend_block(const HeadInputs& head, const AttentionMask& mask, Index first, Index count,
                  blas::View pattern, blas::View z) {
  const Index n_key = pattern_block(head, mask, first, count, pattern);
  blas::multiply_serial(head.V.cols(0, n_key), blas::Transpose::no, pattern.rows(0, n_key),
                        blas::Transpose::no, z);
}

float* thread_scratch(std::size_t size) {
  thread_local std::vector<float> scratch;
  if (scratch.size() < size) scratch.resize(size);
  return scratch.data();
}

}  // namespace headscope
