#include "compute/attention_block.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

// Below this many multiply-adds, waking the threads takes longer than the work.
constexpr Index least_parallel_work = 4'000'000;

}  // namespace

void causal_attention(const Matrix& qkv, Index n_head, double scale, Index n_sequence, blas::View z,
                      Cube* pattern) {
  check_count("attention output columns", qkv.n_cols, z.n_col);
  check_count("query, key and value rows", 3 * z.n_row, qkv.n_rows);
  if (n_head == 0 || z.n_row % n_head != 0) {
    throw ShapeError("heads: expected a divisor of " + std::to_string(z.n_row) + ", got " +
                     std::to_string(n_head));
  }
  if (n_sequence == 0 || qkv.n_cols % n_sequence != 0) {
    throw ShapeError("sequences: expected a divisor of " + std::to_string(qkv.n_cols) + ", got " +
                     std::to_string(n_sequence));
  }
  const Index d_model = z.n_row, d_head = d_model / n_head, n_token = qkv.n_cols / n_sequence;
  if (pattern != nullptr) {
    check_count("pattern keys", n_token, pattern->n_rows);
    check_count("pattern queries", n_token, pattern->n_cols);
    check_count("pattern slices", n_head * n_sequence, pattern->n_slices);
  }
  const AttentionMask mask = AttentionMask::causal();
  const Index n_block = (n_token + query_block - 1) / query_block;
  const Index n_slice = n_head * n_sequence;

#pragma omp parallel for schedule(dynamic) if (n_slice * n_token * n_token * d_head >= \
                                               least_parallel_work)
  for (Index task = 0; task < n_block * n_slice; ++task) {
    // The last blocks have the most keys: they go first, so that the threads finish together.
    const Index block = n_block - 1 - task / n_slice, slice = task % n_slice;
    const Index head = slice % n_head, sequence = slice / n_head;
    const blas::ConstView columns = blas::ConstView(qkv).cols(sequence * n_token, n_token);
    const HeadInputs inputs{
        columns.rows(head * d_head, d_head), columns.rows(d_model + head * d_head, d_head),
        columns.rows(2 * d_model + head * d_head, d_head), static_cast<float>(scale)};
    const Index first = block * query_block, count = std::min(query_block, n_token - first);
    const Index n_key = first + count;
    const blas::View scores =
        pattern == nullptr
            ? blas::View(thread_scratch(n_key * count), n_key, count, n_key)
            : blas::View(pattern->slice_colptr(slice, first), n_token, count, n_token);
    attend_block(inputs, mask, first, count, scores,
                 z.rows(head * d_head, d_head).cols(sequence * n_token + first, count));
  }
}

}  // namespace headscope
