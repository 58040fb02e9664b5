#include "headscope/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/thread_errors.hpp"
#include "compute/divisor.hpp"
#include "compute/scratch.hpp"
#include "headscope/error.hpp"
#include "headscope/ops.hpp"

namespace headscope {
namespace {

void check_bias(const char* name, const Vector& bias, Index count) {
  if (!bias.is_empty()) check_count(name, count, bias.n_elem);
}

void check(const Matrix& queries, const Matrix& keys, const AttentionWeights& w,
           const AttentionMask& mask) {
  const auto divides = [&](const char* name, Index rows) {
    if (w.n_head > 0 && rows > 0 && rows % w.n_head == 0) return;
    throw ShapeError(std::string(name) + " rows: expected a multiple of " +
                     std::to_string(w.n_head) + " heads, got " + std::to_string(rows));
  };
  divides("W_Q", w.W_Q.n_rows);
  divides("W_V", w.W_V.n_rows);
  check_count("W_K rows", w.W_Q.n_rows, w.W_K.n_rows);
  check_count("W_Q columns", queries.n_rows, w.W_Q.n_cols);
  check_count("W_K columns", keys.n_rows, w.W_K.n_cols);
  check_count("W_V columns", keys.n_rows, w.W_V.n_cols);
  check_bias("b_Q", w.b_Q, w.W_Q.n_rows);
  check_bias("b_K", w.b_K, w.W_K.n_rows);
  check_bias("b_V", w.b_V, w.W_V.n_rows);
  check_bias("b_O", w.b_O, w.W_O.is_empty() ? w.W_V.n_rows : w.W_O.n_rows);
  if (!w.W_O.is_empty()) check_count("W_O columns", w.W_V.n_rows, w.W_O.n_cols);
  if (mask.kind != MaskKind::custom) return;
  if (mask.allowed.n_rows == keys.n_cols && mask.allowed.n_cols == queries.n_cols) return;
  throw ShapeError(
      "mask: expected shape " +
      shape_text(std::array<std::size_t, 2>{keys.n_cols, queries.n_cols}) + ", got " +
      shape_text(std::array<std::size_t, 2>{mask.allowed.n_rows, mask.allowed.n_cols}));
}

Matrix project(const Matrix& W, const Vector& bias, const Matrix& X) {
  Matrix projected(W.n_rows, X.n_cols, arma::fill::none);
  blas::multiply(W, X, projected);
  add_bias(projected, bias);
  return projected;
}

float score_scale(const AttentionWeights& w) {
  if (w.scale != 0.0F) return w.scale;
  const Index d_head = w.W_Q.n_rows / w.n_head;
  return 1.0F / std::sqrt(static_cast<float>(d_head));
}

// One head's queries, keys and values, feature x position: row blocks of larger matrices.
struct HeadInputs {
  blas::ConstView Q;  // d_head x n_query
  blas::ConstView K;  // d_head x n_key
  blas::ConstView V;  // d_value x n_key
  float scale = 1;
};

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

// Queries first .. first + count - 1: their pattern, softmax(mask(K' Q scale)), then z = V pattern.
// @param pattern  n_key x count, overwritten.
// @param z        d_value x count, overwritten.
void attend_block(const HeadInputs& head, const AttentionMask& mask, Index first, Index count,
                  blas::View pattern, blas::View z) {
  // Keys that any of these queries may see; the pattern is zero for later ones.
  const Index n_key =
      mask.kind == MaskKind::causal ? std::min(first + count, head.K.n_col) : head.K.n_col;
  blas::multiply_serial(head.K.cols(0, n_key), blas::Transpose::yes, head.Q.cols(first, count),
                        blas::Transpose::no, pattern.rows(0, n_key), head.scale);
  for (Index q = 0; q < count; ++q) {
    float* const scores = pattern.data + q * pattern.stride;
    normalize_query(mask, first + q, scores, n_key);
    std::fill(scores + n_key, scores + pattern.n_row, 0.0F);
  }
  blas::multiply_serial(head.V.cols(0, n_key), blas::Transpose::no, pattern.rows(0, n_key),
                        blas::Transpose::no, z);
}

// Where one head's patterns go; scratch if nobody asked for them.
blas::View pattern_columns(Cube& pattern, Index head, Index n_key, Index first, Index count) {
  if (pattern.is_empty()) return {thread_scratch(n_key * count), n_key, count, n_key};
  return {pattern.slice_colptr(head, first), n_key, count, n_key};
}

void attend(const HeadInputs& inputs, const AttentionMask& mask, Index head, Cube& pattern,
            blas::View z) {
  constexpr Index block = 64;  // whose scores stay in the second-level cache
  for (Index first = 0; first < inputs.Q.n_col; first += block) {
    const Index count = std::min(block, inputs.Q.n_col - first);
    attend_block(inputs, mask, first, count,
                 pattern_columns(pattern, head, inputs.K.n_col, first, count),
                 z.cols(first, count));
  }
}

AttentionOutput allocate(const Matrix& queries, const Matrix& keys, const AttentionWeights& w,
                         const AttentionRequest& request) {
  AttentionOutput out;
  out.z.zeros(w.W_V.n_rows, queries.n_cols);
  if (request.pattern) out.pattern.zeros(keys.n_cols, queries.n_cols, w.n_head);
  return out;
}

void project_output(const AttentionWeights& w, const AttentionRequest& request,
                    AttentionOutput& out) {
  if (request.head_output) {
    const Matrix identity =
        w.W_O.is_empty() ? arma::eye<Matrix>(out.z.n_rows, out.z.n_rows) : Matrix();
    out.head_output = head_outputs(out.z, w.W_O.is_empty() ? identity : w.W_O, w.n_head);
  }
  if (w.W_O.is_empty()) {
    out.output = out.z;
    add_bias(out.output, w.b_O);
  } else {
    out.output = project(w.W_O, w.b_O, out.z);
  }
}

Vector part(const Vector& bias, Index first, Index count) {
  return bias.is_empty() ? Vector() : Vector(bias.subvec(first, first + count - 1));
}

Matrix rows(const Matrix& W, Index first, Index count) {
  return W.rows(first, first + count - 1);
}

}  // namespace

AttentionOutput multi_head_attention(const Matrix& queries, const Matrix& keys,
                                     const AttentionWeights& w, const AttentionMask& mask,
                                     const AttentionRequest& request) {
  check(queries, keys, w, mask);
  AttentionOutput out = allocate(queries, keys, w, request);
  const Matrix Q = project(w.W_Q, w.b_Q, queries), K = project(w.W_K, w.b_K, keys),
               V = project(w.W_V, w.b_V, keys);
  const Index d_head = Q.n_rows / w.n_head, d_value = V.n_rows / w.n_head;
  ThreadErrors errors;
#pragma omp parallel for schedule(dynamic)
  for (Index h = 0; h < w.n_head; ++h) {
    errors.run([&] {
      const HeadInputs inputs{blas::ConstView(Q).rows(h * d_head, d_head),
                              blas::ConstView(K).rows(h * d_head, d_head),
                              blas::ConstView(V).rows(h * d_value, d_value), score_scale(w)};
      attend(inputs, mask, h, out.pattern, blas::View(out.z).rows(h * d_value, d_value));
    });
  }
  errors.rethrow();
  project_output(w, request, out);
  return out;
}

AttentionOutput multi_head_attention_per_head(const Matrix& queries, const Matrix& keys,
                                              const AttentionWeights& w, const AttentionMask& mask,
                                              const AttentionRequest& request) {
  check(queries, keys, w, mask);
  AttentionOutput out = allocate(queries, keys, w, request);
  const Index d_head = w.W_Q.n_rows / w.n_head, d_value = w.W_V.n_rows / w.n_head;
  for (Index h = 0; h < w.n_head; ++h) {
    const Index first = h * d_head, first_value = h * d_value;
    const Matrix Q = project(rows(w.W_Q, first, d_head), part(w.b_Q, first, d_head), queries);
    const Matrix K = project(rows(w.W_K, first, d_head), part(w.b_K, first, d_head), keys);
    const Matrix V =
        project(rows(w.W_V, first_value, d_value), part(w.b_V, first_value, d_value), keys);
    attend({Q, K, V, score_scale(w)}, mask, h, out.pattern,
           blas::View(out.z).rows(first_value, d_value));
  }
  project_output(w, request, out);
  return out;
}

Cube head_outputs(const Matrix& z, const Matrix& W_O, Index n_head) {
  check_count("W_O columns", z.n_rows, W_O.n_cols);
  check_divisor("heads", z.n_rows, n_head);
  const Index d_value = z.n_rows / n_head;
  Cube output(W_O.n_rows, z.n_cols, n_head, arma::fill::none);
  for (Index h = 0; h < n_head; ++h) {
    blas::multiply(blas::ConstView(W_O).cols(h * d_value, d_value),
                   blas::ConstView(z).rows(h * d_value, d_value),
                   {output.slice_memptr(h), W_O.n_rows, z.n_cols, W_O.n_rows});
  }
  return output;
}

}  // namespace headscope
