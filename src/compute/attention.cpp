#include "headscope/attention.hpp"

#include "compute/causal_attention.hpp"
#include "headscope/error.hpp"

namespace headscope {

void causal_attention(const Matrix& qkv, Index n_head, double scale, blas::View z, Cube* pattern,
                      const ComputeContext& context) {
  check_count("attention output columns", qkv.n_cols, z.n_col);
  const auto fits = [&](const ModelConfig& heads) {
    return n_head % heads.n_group() == 0 && heads.d_qkv() == qkv.n_rows;
  };
  if (n_head == 0 || z.n_row < n_head ||
      !fits(config_of_heads(qkv.n_rows, n_head, z.n_row / n_head))) {
    check_count("query, key and value rows", 3 * z.n_row, qkv.n_rows);
  }
  check_divisor("heads", z.n_row, n_head);
  if (pattern != nullptr) {
    check_count("pattern keys", qkv.n_cols, pattern->n_rows);
    check_count("pattern queries", qkv.n_cols, pattern->n_cols);
    check_count("pattern slices", n_head, pattern->n_slices);
  }
  const SequenceBatch::Sequence sequence{0, qkv.n_cols};
  causal_attention(qkv, n_head, scale, {&sequence, 1}, 1, z, context.passes(), pattern);
}

}  // namespace headscope
