#include "compute/product/weight_product.hpp"

#include <omp.h>

#include <algorithm>

#include "base/thread_errors.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

// Below this many elements, waking the threads takes longer than the work.
constexpr Index least_threaded_size = 1 << 16;
// Fewer columns do not repay packing the weights.
constexpr Index least_packed_columns = 128;
// Packed weights of this size stay in a core's cache while blocks of columns are multiplied.
constexpr std::uint64_t most_weight_bytes = 900'000;

// The size of nearly equal blocks of at most `most`, the same number for each thread; a multiple of
// `multiple`. The last block may be smaller.
Index even_block(Index count, Index most, Index multiple, Index n_thread = 1) {
  const auto quotient = [](Index a, Index b) { return (a + b - 1) / b; };
  const Index n_block = quotient(quotient(count, most), n_thread) * n_thread;
  return std::min(most, quotient(quotient(count, n_block), multiple) * multiple);
}

// Outputs whose weights stay in a core's cache.
Index output_block(Index n_in, Index n_out, const Arithmetic& arithmetic) {
  constexpr Index block = Arithmetic::block;
  const std::uint64_t n_block = most_weight_bytes / arithmetic.bytes(n_in, block);
  return even_block(n_out, std::max<Index>(1, n_block) * block, block);
}

Index input_count(blas::ConstView W, blas::Transpose transpose) {
  return transpose == blas::Transpose::yes ? W.n_row : W.n_col;
}

Index output_count(blas::ConstView W, blas::Transpose transpose) {
  return transpose == blas::Transpose::yes ? W.n_col : W.n_row;
}

void check_product(blas::ConstView W, blas::Transpose transpose, blas::ConstView X,
                   blas::ConstView Y) {
  check_count("rows of the activations", input_count(W, transpose), X.n_row);
  check_count("rows of the product", output_count(W, transpose), Y.n_row);
  check_count("columns of the product", X.n_col, Y.n_col);
}

blas::ConstView inputs_of(blas::ConstView W, blas::Transpose transpose, Index first, Index count) {
  return transpose == blas::Transpose::yes ? W.rows(first, count) : W.cols(first, count);
}

// The first n_out outputs and n_in inputs, or all if there are fewer.
blas::ConstView first_of(blas::ConstView W, blas::Transpose transpose, Index n_in, Index n_out) {
  const bool transposed = transpose == blas::Transpose::yes;
  return W.rows(0, std::min(W.n_row, transposed ? n_in : n_out))
      .cols(0, std::min(W.n_col, transposed ? n_out : n_in));
}

blas::ConstView outputs_of(blas::ConstView W, blas::Transpose transpose, Index first, Index count) {
  return transpose == blas::Transpose::yes ? W.cols(first, count) : W.rows(first, count);
}

// One block of outputs, from `first` on.
void pack_outputs(const Arithmetic& arithmetic, blas::ConstView W, blas::Transpose transpose,
                  Index first, Operand& packed) {
  const Index count = std::min(Arithmetic::block, packed.count - first);
  arithmetic.pack_outputs(outputs_of(W, transpose, first, count), transpose, first, packed);
}

// Y = W X, or Y += W X, for a block of inputs and the outputs from W.first on, some at a time.
void multiply_block(const Arithmetic& arithmetic, const OperandRange& X, const OperandRange& W,
                    blas::View Y, bool add) {
  const Index n_in = W.operand.n_in, at_once = output_block(n_in, Y.n_row, arithmetic);
  for (Index output = 0; output < Y.n_row; output += at_once) {
    arithmetic.multiply(X, {W.operand, W.first + output}, n_in,
                        Y.rows(output, std::min(at_once, Y.n_row - output)), add);
  }
}

}  // namespace

std::uint64_t packed_bytes(Index n_in, Index count, Engine engine) {
  const Arithmetic* const arithmetic = entry_of(engine).arithmetic;
  return arithmetic == nullptr ? 0 : arithmetic->bytes(n_in, count);
}

void PackedColumns::set(blas::ConstView X, const Products& products, float scale) {
  X_ = X;
  products_ = products;
  scale_ = scale;
  if (!products.packs()) return;
  const Arithmetic& arithmetic = *products.arithmetic_;
  arithmetic.set_size(X.n_row, X.n_col, packed_);
  const bool in_parallel = omp_in_parallel() == 0 && X.n_row * X.n_col >= least_threaded_size;
#pragma omp parallel for schedule(static) if (in_parallel)
  for (Index c = 0; c < X.n_col; ++c) {
    arithmetic.pack_column(X.column(c), scale, c, packed_);
  }
}

void PackedColumns::set_size(Index n_row, Index n_col, const Products& products) {
  X_ = {nullptr, n_row, n_col, n_row};
  products_ = products;
  scale_ = 1;
  products.arithmetic_->set_size(n_row, n_col, packed_);
}

void PackedColumns::set_column(Index column, const float* x) {
  products_->arithmetic_->pack_column(x, 1, column, packed_);
}

void PackedColumns::take(const PackedColumns& from, std::span<const TokenId> columns) {
  set_size(from.X_.n_row, columns.size(), *from.products_);
  for (Index c = 0; c < columns.size(); ++c) {
    products_->arithmetic_->copy_column(from.packed_, static_cast<Index>(columns[c]), c, packed_);
  }
}

void PackedColumns::multiply_serial(blas::ConstView W, blas::Transpose transpose, blas::View Y,
                                    bool add) const {
  if (!products_->packs()) {
    blas::multiply_serial(W, transpose, X_, blas::Transpose::no, Y, scale_, add ? 1 : 0);
    return;
  }
  check_product(W, transpose, X_, Y);
  auto& weights = products_->scratch().of_thread<PackedWeights>();
  const Index at_once = output_block(X_.n_row, Y.n_row, *products_->arithmetic_);
  for (Index first = 0; first < Y.n_row; first += at_once) {
    const Index count = std::min(at_once, Y.n_row - first);
    weights.set(outputs_of(W, transpose, first, count), transpose, *products_);
    weights.multiply(*this, Y.rows(first, count), add);
  }
}

void PackedWeights::set(blas::ConstView W, blas::Transpose transpose, const Products& products) {
  W_ = W;
  transpose_ = transpose;
  arithmetic_ = products.arithmetic_;
  if (arithmetic_ == nullptr) return;
  arithmetic_->set_size(input_count(W, transpose), output_count(W, transpose), packed_);
  for (Index o = 0; o < packed_.count; o += Arithmetic::block) {
    pack_outputs(*arithmetic_, W, transpose, o, packed_);
  }
}

void PackedWeights::multiply(const PackedColumns& X, blas::View Y, bool add) const {
  const blas::ConstView W = first_of(W_, transpose_, X.X_.n_row, Y.n_row);
  check_product(W, transpose_, X.X_, Y);
  if (arithmetic_ == nullptr) {
    blas::multiply_serial(W, transpose_, X.X_, blas::Transpose::no, Y, X.scale_, add ? 1 : 0);
    return;
  }
  arithmetic_->multiply({X.packed_}, {packed_}, X.X_.n_row, Y, add);
}

void WeightProduct::set(blas::ConstView W, blas::Transpose transpose, const Products& products) {
  W_ = W;
  transpose_ = transpose;
  products_ = products;
  const Arithmetic* const arithmetic = products.arithmetic_;
  if (arithmetic == nullptr) return;
  const Index n_in = input_count(W, transpose), n_out = output_count(W, transpose);
  const Index n_input = even_block(n_in, arithmetic->most_inputs(), arithmetic->input_block()),
              n_block = (n_in + n_input - 1) / n_input;
  if (blocks_.size() < n_block) blocks_.resize(n_block);
  for (Index i = 0; i < n_block; ++i) {
    arithmetic->set_size(std::min(n_input, n_in - i * n_input), n_out, blocks_[i]);
  }
  ThreadErrors errors;
#pragma omp parallel for schedule(static)
  for (Index o = 0; o < n_out; o += Arithmetic::block) {
    errors.run([&] {
      for (Index i = 0; i < n_block; ++i) {
        pack_outputs(*arithmetic, inputs_of(W, transpose, i * n_input, blocks_[i].n_in), transpose,
                     o, blocks_[i]);
      }
    });
  }
  errors.rethrow();
}

void WeightProduct::multiply(blas::ConstView X, blas::View Y, bool add) const {
  const Arithmetic* const arithmetic = products_->for_columns(X.n_col).arithmetic_;
  if (arithmetic == nullptr) {
    blas::multiply(W_, transpose_, X, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W_, transpose_, X, Y);
  const Index block = columns_at_once(X.n_col);
  for_blocks_in_parallel(X.n_col, block, [&](Index first, Index n_column) {
    auto& columns = products_->scratch().of_thread<PackedColumns>();
    Index input = 0;
    for (auto packed = blocks_.begin(); input < X.n_row; input += packed++->n_in) {
      columns.set(X.rows(input, packed->n_in).cols(first, n_column), *products_);
      multiply_block(*arithmetic, {columns.packed_}, {*packed}, Y.cols(first, n_column),
                     add || input > 0);
    }
  });
}

Index WeightProduct::columns_at_once(Index n_column) {
  return even_block(n_column, most_columns, Arithmetic::block,
                    static_cast<Index>(blas::thread_count()));
}

void WeightProduct::multiply_serial(const PackedColumns& X, Index first, blas::View Y,
                                    Index first_output) const {
  const blas::ConstView W = outputs_of(W_, transpose_, first_output, Y.n_row);
  const Arithmetic* const arithmetic = products_->arithmetic_;
  if (arithmetic == nullptr) {
    blas::multiply_serial(W, transpose_, X.X_.cols(first, Y.n_col), blas::Transpose::no, Y,
                          X.scale_);
    return;
  }
  // The columns may have been set one by one: then there is no memory to point to.
  check_product(W, transpose_, {nullptr, X.X_.n_row, Y.n_col, X.X_.n_row}, Y);
  Index input = 0;
  for (auto packed = blocks_.begin(); input < X.X_.n_row; input += packed++->n_in) {
    multiply_block(*arithmetic, {X.packed_, first, input}, {*packed, first_output}, Y, input > 0);
  }
}

void WeightProduct::multiply_inputs_serial(Index first_input, const PackedColumns& X, blas::View Y,
                                           bool add) const {
  const Operand& packed = blocks_[first_input / blocks_.front().n_in];
  check_product(inputs_of(W_, transpose_, first_input, packed.n_in), transpose_, X.X_, Y);
  multiply_block(*products_->arithmetic_, {X.packed_}, {packed}, Y, add);
}

std::uint64_t WeightProduct::thread_bytes(Engine engine) {
  const Arithmetic* const arithmetic = entry_of(engine).arithmetic;
  if (arithmetic == nullptr) return 0;
  return most_weight_bytes + arithmetic->bytes(arithmetic->most_inputs(), most_columns);
}

Products Products::for_columns(Index n_column) const {
  Products chosen = *this;
  if (n_column < least_packed_columns) chosen.arithmetic_ = nullptr;
  return chosen;
}

void Products::multiply(blas::ConstView W, blas::Transpose transpose, blas::ConstView X,
                        blas::View Y, bool add) const {
  auto& product = scratch_->shared<WeightProduct>();
  product.set(W, transpose, for_columns(X.n_col));
  product.multiply(X, Y, add);
}

}  // namespace headscope
