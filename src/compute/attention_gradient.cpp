#include "compute/attention_gradient.hpp"

#include <algorithm>

#include "compute/causal_attention.hpp"
#include "compute/scratch.hpp"
#include "compute/vector_math.hpp"

namespace headscope {
namespace {

using blas::Transpose;

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

// to = from', in squares that stay in the first-level cache. @param to  from.n_col x from.n_row.
HEADSCOPE_VECTORISED void transpose(blas::ConstView from, blas::View to) {
  constexpr Index square = 16;
  for (Index first = 0; first < from.n_col; first += square) {
    const Index end = first + square < from.n_col ? first + square : from.n_col;
    for (Index row = 0; row < from.n_row; ++row) {
      for (Index column = first; column < end; ++column) {
        to.data[row * to.stride + column] = from.data[column * from.stride + row];
      }
    }
  }
}

// A matrix that keeps its memory.
class Transposed {
 public:
  void set_zero(Index n_row, Index n_col) {
    set_size(n_row, n_col);
    std::fill_n(values_.begin(), n_row * n_col, 0.0F);
  }
  void set(blas::ConstView X) {
    set_size(X.n_col, X.n_row);
    transpose(X, view());
  }
  blas::View view() { return {values_.data(), n_row_, n_col_, n_row_}; }

 private:
  void set_size(Index n_row, Index n_col) {
    n_row_ = n_row;
    n_col_ = n_col;
    if (values_.size() < n_row * n_col) values_ = CacheLines<float>(n_row * n_col);
  }

  CacheLines<float> values_;
  Index n_row_ = 0, n_col_ = 0;
};

// The keys and values of a segment, or of its stem, made ready for backpropagation.
struct Keys {
  Index first_column = 0, n_key = 0;
  SplitWeights K, V_transposed;

  void set(blas::ConstView K_given, blas::ConstView V, Index first, Engine engine) {
    first_column = first;
    n_key = K_given.n_col;
    if (n_key == 0) return;
    K.set(K_given, Transpose::no, engine);
    V_transposed.set(V, Transpose::yes, engine);
  }
};

// Backpropagation through one head, a segment after the other. Keeps its memory for the next head.
class AttentionGradient {
 public:
  void start(Index n_column, Index d_head) {
    dK_.set_zero(n_column, d_head);
    dV_.set_zero(n_column, d_head);
  }

  // Overwrites the segment's columns of dQ, adds to dK and dV of the segment and its stem.
  // @param dz, dQ  d_head x n_column.
  void add(const SegmentInputs& inputs, const Pack::Segment& segment, blas::ConstView dz,
           blas::View dQ, Engine engine) {
    engine_ = engine;
    pattern_.set(inputs, engine);
    own_.set(inputs.K, inputs.V, segment.first, engine);
    stem_.set(inputs.stem_K, inputs.stem_V, segment.stem_first, engine);
    const Index block = queries_at_once(engine);
    for (Index first = 0; first < segment.count; first += block) {
      const Index count = std::min(block, segment.count - first), column = segment.first + first;
      add_block(inputs, first, inputs.Q.cols(first, count), dz.cols(column, count),
                dQ.cols(column, count));
    }
  }

  // The sums over all segments. @param dK, dV  d_head x n_column, overwritten.
  void finish(blas::View dK, blas::View dV) {
    transpose(dK_.view(), dK);
    transpose(dV_.view(), dV);
  }

 private:
  void add_block(const SegmentInputs& inputs, Index first, blas::ConstView Q, blas::ConstView dz,
                 blas::View dQ) {
    const Index count = Q.n_col, n_stem = inputs.n_stem(), n_own = first + count;
    const Index n_key = n_stem + n_own;
    float* const scratch = thread_scratch(2 * n_key * count);
    const blas::View A(scratch, n_key, count, n_key);
    const blas::View dS(scratch + n_key * count, n_key, count, n_key);
    const auto for_keys = [&](const auto& visit) {
      visit(own_, n_stem, n_own);
      if (n_stem > 0) visit(stem_, Index{0}, n_stem);
    };
    pattern_.compute(first, count, A);
    columns_.set(dz, engine_);
    for_keys([&](const Keys& keys, Index row, Index n_row) {
      keys.V_transposed.multiply(columns_, dS.rows(row, n_row));
    });
    for (Index q = 0; q < count; ++q) {
      softmax_gradient(A.data + q * n_key, n_key, inputs.scale, dS.data + q * n_key);
    }
    for_keys([&](const Keys& keys, Index row, Index n_row) {
      columns_.set(dS.rows(row, n_row), engine_);
      keys.K.multiply(columns_, dQ, &keys == &stem_);
    });
    // dK' = dS Q', dV' = A dz'.
    const auto add_products = [&](blas::ConstView left, blas::ConstView right, Transposed& sum) {
      right_.set(right);
      columns_.set(right_.view(), engine_);
      for_keys([&](const Keys& keys, Index row, Index n_row) {
        columns_.multiply_serial(left.rows(row, n_row), Transpose::no,
                                 sum.view().rows(keys.first_column, n_row), true);
      });
    };
    add_products(dS, Q, dK_);
    add_products(A, dz, dV_);
  }

  Engine engine_ = Engine::float32;
  SegmentPattern pattern_;
  Keys own_, stem_;
  SplitColumns columns_;
  Transposed right_, dK_, dV_;  // the sums: n_column x d_head
};

}  // namespace

void causal_attention_gradient(const Matrix& qkv, Index n_head, double scale,
                               std::span<const Pack::Segment> segments, blas::ConstView dz,
                               blas::View dqkv, Engine engine) {
  const Index d_model = dz.n_row, d_head = d_model / n_head;
#pragma omp parallel for schedule(dynamic)
  for (Index h = 0; h < n_head; ++h) {
    thread_local AttentionGradient gradient;
    const auto out = [&](Index part) { return dqkv.rows(part * d_model + h * d_head, d_head); };
    gradient.start(qkv.n_cols, d_head);
    for (const Pack::Segment& segment : segments) {
      gradient.add(segment_inputs(qkv, n_head, scale, h, segment), segment,
                   dz.rows(h * d_head, d_head), out(0), product_engine(engine, segment.count));
    }
    gradient.finish(out(1), out(2));
  }
}

std::uint64_t attention_gradient_thread_bytes(Index d_head, Index n_column, Engine engine) {
  const Index count = queries_at_once(engine);
  // The sums of keys' and values' gradients, the gradient of a block's scores; keys again, and
  // those scores.
  return (2 * d_head + count) * n_column * sizeof(float) +
         attention_thread_bytes(d_head, n_column, engine) +
         SplitWeights::bytes(d_head, n_column, engine) +
         SplitWeights::bytes(count, n_column, engine);
}

}  // namespace headscope
