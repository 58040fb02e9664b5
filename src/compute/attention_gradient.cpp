#include "compute/attention_gradient.hpp"

#include <algorithm>

#include "compute/attention_block.hpp"
#include "compute/vector_math.hpp"

namespace headscope {
namespace {

// Backpropagates one query through softmax and scale, overwriting dA:
// dS = A (dA - sum over keys of A dA) scale.
HEADSCOPE_VECTORISED void softmax_gradient(const float* A, Index n_key, float scale, float* dA) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index k = 0; k < n_key; ++k) sum += static_cast<double>(A[k] * dA[k]);
  const auto mean = static_cast<float>(sum);
#pragma omp simd
  for (Index k = 0; k < n_key; ++k) dA[k] = A[k] * (dA[k] - mean) * scale;
}

struct HeadGradients {
  blas::View dQ, dK, dV;  // d_head x n_token
};

void clear(blas::View values) {
  for (Index t = 0; t < values.n_col; ++t) {
    std::fill_n(values.data + t * values.stride, values.n_row, 0.0F);
  }
}

// Queries first .. first + count - 1 of one head: overwrites their dQ, adds to dK and dV.
void add_block(const HeadInputs& head, blas::ConstView dz, Index first, Index count,
               const HeadGradients& out) {
  using blas::Transpose;
  const Index n_key = first + count;
  float* const scratch = thread_scratch(2 * n_key * count);
  const blas::View A(scratch, n_key, count, n_key);
  const blas::View dS(scratch + n_key * count, n_key, count, n_key);
  pattern_block(head, AttentionMask::causal(), first, count, A);
  const blas::ConstView dz_block = dz.cols(first, count);
  blas::multiply_serial(head.V.cols(0, n_key), Transpose::yes, dz_block, Transpose::no, dS);
  for (Index q = 0; q < count; ++q) {
    softmax_gradient(A.data + q * n_key, n_key, head.scale, dS.data + q * n_key);
  }
  blas::multiply_serial(head.K.cols(0, n_key), Transpose::no, dS, Transpose::no,
                        out.dQ.cols(first, count));
  blas::multiply_serial(head.Q.cols(first, count), Transpose::no, dS, Transpose::yes,
                        out.dK.cols(0, n_key), 1, 1);
  blas::multiply_serial(dz_block, Transpose::no, A, Transpose::yes, out.dV.cols(0, n_key), 1, 1);
}

}  // namespace

void causal_attention_gradient(const Matrix& qkv, Index n_head, double scale, blas::ConstView dz,
                               blas::View dqkv) {
  const Index d_model = dz.n_row, d_head = d_model / n_head, n_token = dz.n_col;
#pragma omp parallel for schedule(dynamic)
  for (Index h = 0; h < n_head; ++h) {
    const auto in = [&](Index part) {
      return blas::ConstView(qkv).rows(part * d_model + h * d_head, d_head);
    };
    const auto out = [&](Index part) { return dqkv.rows(part * d_model + h * d_head, d_head); };
    const HeadInputs head{in(0), in(1), in(2), static_cast<float>(scale)};
    const HeadGradients gradients{out(0), out(1), out(2)};
    clear(gradients.dK);
    clear(gradients.dV);
    for (Index first = 0; first < n_token; first += query_block) {
      add_block(head, dz.rows(h * d_head, d_head), first, std::min(query_block, n_token - first),
                gradients);
    }
  }
}

}  // namespace headscope
