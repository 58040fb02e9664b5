#include "compute/attention_gradient.hpp"

#include <algorithm>

#include "base/thread_errors.hpp"
#include "base/vector_math.hpp"
#include "compute/buffer.hpp"
#include "compute/causal_attention.hpp"
#include "compute/ops.hpp"

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
  const auto end = [](Index first, Index all) {
    return first + square < all ? first + square : all;
  };
  for (Index column = 0; column < from.n_col; column += square) {
    for (Index row = 0; row < from.n_row; row += square) {
      for (Index i = row; i < end(row, from.n_row); ++i) {
        for (Index j = column; j < end(column, from.n_col); ++j) {
          to.data[i * to.stride + j] = from.data[j * from.stride + i];
        }
      }
    }
  }
}

// The keys and values of a sequence, or of its prefix, packed for backpropagation.
struct KeysAndValues {
  Index first_column = 0;
  PackedWeights K, V_transposed;

  void set(blas::ConstView K_given, blas::ConstView V, Index first, const Products& products) {
    first_column = first;
    if (K_given.n_col == 0) return;
    K.set(K_given, Transpose::no, products);
    V_transposed.set(V, Transpose::yes, products);
  }
};

// Gradients of each head's keys and values, before those of a group are added up.
struct HeadGradients : Buffer {};

// Backpropagation through one head, sequence by sequence. Keeps its memory for the next head.
class AttentionGradient {
 public:
  void start(Index n_column, Index d_head) {
    n_column_ = n_column;
    d_head_ = d_head;
    sum(dK_transposed_).zeros();
    sum(dV_transposed_).zeros();
  }

  // Overwrites the sequence's columns of dQ, adds to dK and dV of the sequence and its prefix.
  // @param dz, dQ  d_head x n_column.
  void add(const SequenceInputs& inputs, const SequenceBatch::Sequence& sequence,
           blas::ConstView dz, blas::View dQ, const Products& products) {
    products_ = products;
    pattern_.set(inputs, products);
    sequence_.set(inputs.K, inputs.V, sequence.first, products);
    prefix_.set(inputs.prefix_K, inputs.prefix_V, sequence.prefix_first, products);
    const Index block = queries_at_once(products.packs());
    for (Index first = 0; first < sequence.count; first += block) {
      const Index count = std::min(block, sequence.count - first), column = sequence.first + first;
      add_block(inputs, first, inputs.Q.cols(first, count), dz.cols(column, count),
                dQ.cols(column, count));
    }
  }

  // The sums over all sequences. @param dK, dV  d_head x n_column, overwritten.
  void finish(blas::View dK, blas::View dV) {
    transpose(sum(dK_transposed_), dK);
    transpose(sum(dV_transposed_), dV);
  }

 private:
  void add_block(const SequenceInputs& inputs, Index first, blas::ConstView Q, blas::ConstView dz,
                 blas::View dQ) {
    const Index count = Q.n_col, n_prefix = inputs.n_prefix(), n_in_sequence = first + count;
    const Index n_key = n_prefix + n_in_sequence;
    Matrix patterns = patterns_.matrix(n_key, 2 * count);
    const blas::View A = blas::View(patterns).cols(0, count),
                     dS = blas::View(patterns).cols(count, count);
    const auto for_keys = [&](const auto& visit) {
      visit(sequence_, n_prefix, n_in_sequence);
      if (n_prefix > 0) visit(prefix_, Index{0}, n_prefix);
    };
    pattern_.compute(first, count, A);
    columns_.set(dz, *products_);
    for_keys([&](const KeysAndValues& keys, Index row, Index n_row) {
      keys.V_transposed.multiply(columns_, dS.rows(row, n_row));
    });
    for (Index q = 0; q < count; ++q) {
      softmax_gradient(A.data + q * n_key, n_key, inputs.scale, dS.data + q * n_key);
    }
    for_keys([&](const KeysAndValues& keys, Index row, Index n_row) {
      columns_.set(dS.rows(row, n_row), *products_);
      keys.K.multiply(columns_, dQ, &keys == &prefix_);
    });
    // dK' = dS Q', dV' = A dz'.
    const auto add_products = [&](blas::ConstView left, blas::ConstView right, blas::View sum) {
      Matrix right_transposed = right_transposed_.matrix(right.n_col, right.n_row);
      transpose(right, right_transposed);
      columns_.set(right_transposed, *products_);
      for_keys([&](const KeysAndValues& keys, Index row, Index n_row) {
        columns_.multiply_serial(left.rows(row, n_row), Transpose::no,
                                 sum.rows(keys.first_column, n_row), true);
      });
    };
    Matrix dK = sum(dK_transposed_), dV = sum(dV_transposed_);
    add_products(dS, Q, dK);
    add_products(A, dz, dV);
  }

  Matrix sum(Buffer& buffer) { return buffer.matrix(n_column_, d_head_); }

  std::optional<Products> products_;
  SequencePattern pattern_;
  KeysAndValues sequence_, prefix_;
  PackedColumns columns_;
  Index n_column_ = 0, d_head_ = 0;
  Buffer patterns_, right_transposed_, dK_transposed_, dV_transposed_;
};

}  // namespace

void causal_attention_gradient(const Matrix& qkv, Index n_head, double scale,
                               std::span<const SequenceBatch::Sequence> sequences,
                               blas::ConstView dz, blas::View dqkv, const Products& products) {
  const Index d_head = dz.n_row / n_head, n_column = qkv.n_cols;
  const ModelConfig heads = config_of_heads(qkv.n_rows, n_head, d_head);
  const bool shares = heads.n_group() < n_head;
  Matrix dkv;  // by head
  if (shares) dkv = products.scratch().shared<HeadGradients>().matrix(2 * dz.n_row, n_column);
  const auto by_head = [&](Index which, Index head) {
    return shares ? blas::View(dkv).rows(which * dz.n_row + head * d_head, d_head)
                  : dqkv.rows(which == 0 ? heads.k_row(head) : heads.v_row(head), d_head);
  };
  for_each_in_parallel(n_head, [&](Index h) {
    auto& gradient = products.scratch().of_thread<AttentionGradient>();
    gradient.start(n_column, d_head);
    for (const SequenceBatch::Sequence& sequence : sequences) {
      gradient.add(sequence_inputs(qkv, heads, scale, h, sequence), sequence,
                   dz.rows(h * d_head, d_head), dqkv.rows(heads.q_row(h), d_head),
                   products.for_columns(sequence.count));
    }
    gradient.finish(by_head(0, h), by_head(1, h));
  });
  if (!shares) return;
  for (Index h = 0; h < n_head; ++h) {
    const bool is_first = h == 0 || heads.group(h) != heads.group(h - 1);
    for (const Index which : {0, 1}) {
      const blas::View sum = dqkv.rows(which == 0 ? heads.k_row(h) : heads.v_row(h), d_head);
      if (is_first) {
        copy(by_head(which, h), sum);
      } else {
        add(sum, by_head(which, h), sum);
      }
    }
  }
}

std::uint64_t attention_gradient_thread_bytes(Index d_head, Index n_column, Engine engine) {
  const Index count = most_queries_at_once;
  // Sums of the gradients of keys and values; the gradient of a block's scores; keys a second time,
  // and the packed scores.
  return (2 * d_head + count) * n_column * sizeof(float) +
         attention_thread_bytes(d_head, n_column, engine) + packed_bytes(d_head, n_column, engine) +
         packed_bytes(count, n_column, engine);
}

}  // namespace headscope
