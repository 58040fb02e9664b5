#include "compute/weight_product.hpp"

#include <algorithm>

#include "headscope/error.hpp"

namespace headscope {
namespace {

// Fewer columns do not repay the splitting of the weights.
constexpr Index least_split_columns = 128;
// So many split weights stay in a core's cache while columns go by, a block of them at a time.
constexpr std::uint64_t most_weight_bytes = 1 << 20;
constexpr Index most_inputs = 768, most_block_columns = 256;

int n_part(Engine engine) {
  switch (engine) {
    case Engine::bfloat16_one:
      return 1;
    case Engine::bfloat16_three:
      return 2;
    case Engine::bfloat16_six:
      return 3;
    default:
      return 0;
  }
}

// The size of each but the last of nearly equal parts of at most `most`, as many for each thread.
Index even_part(Index count, Index most, Index n_thread = 1) {
  const auto quotient = [](Index a, Index b) { return (a + b - 1) / b; };
  const Index n_part = quotient(quotient(count, most), n_thread) * n_thread;
  return std::min(most, quotient(quotient(count, n_part), Tiles::block) * Tiles::block);
}

// Outputs that are split at once.
Index output_part(Index n_in, Index n_out, Engine engine, Index n_thread = 1) {
  const std::uint64_t bytes = Tiles::bytes(n_in, Tiles::block, n_part(engine));
  return even_part(n_out, std::max<Index>(1, most_weight_bytes / bytes) * Tiles::block, n_thread);
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

// Some outputs and inputs, of which `tiles` has the size.
void split_weights(blas::ConstView W, blas::Transpose transpose, Index first_out, Index first_in,
                   Tiles& tiles) {
  for (Index o = 0; o < tiles.count(); o += Tiles::block) {
    const Index n_out = std::min(Tiles::block, tiles.count() - o);
    const blas::ConstView here = transpose == blas::Transpose::yes
                                     ? W.rows(first_in, tiles.n_in()).cols(first_out + o, n_out)
                                     : W.cols(first_in, tiles.n_in()).rows(first_out + o, n_out);
    tiles.set_outputs(o, here, transpose);
  }
}

}  // namespace

Engine product_engine(Engine engine, Index n_column) {
  return n_column < least_split_columns ? Engine::float32 : engine;
}

void SplitColumns::set(blas::ConstView X, Engine engine) {
  X_ = X;
  engine_ = engine;
  if (engine == Engine::float32) return;
  tiles_.set_size(X.n_row, X.n_col, n_part(engine));
#pragma omp parallel for schedule(static)
  for (Index c = 0; c < X.n_col; ++c) tiles_.set_column(c, X.data + c * X.stride);
}

void SplitColumns::multiply_serial(blas::ConstView W, blas::Transpose transpose, blas::View Y,
                                   bool add) const {
  if (engine_ == Engine::float32) {
    blas::multiply_serial(W, transpose, X_, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W, transpose, X_, Y);
  thread_local Tiles weights;
  const Index at_once = output_part(X_.n_row, Y.n_row, engine_);
  for (Index first = 0; first < Y.n_row; first += at_once) {
    const Index count = std::min(at_once, Y.n_row - first);
    weights.set_size(X_.n_row, count, n_part(engine_));
    split_weights(W, transpose, first, 0, weights);
    multiply_tiles(tiles_, 0, 0, weights, Y.rows(first, count), add);
  }
}

std::uint64_t SplitColumns::bytes(Index n_in, Index n_column, Engine engine) {
  return Tiles::bytes(n_in, n_column, n_part(engine));
}

void WeightProduct::set(blas::ConstView W, blas::Transpose transpose, Engine engine) {
  W_ = W;
  transpose_ = transpose;
  engine_ = engine;
  if (engine == Engine::float32) return;
  const Index n_in = input_count(W, transpose), n_out = output_count(W, transpose);
  const Index n_input = even_part(n_in, most_inputs);
  const Index n_output =
      output_part(n_input, n_out, engine, static_cast<Index>(blas::thread_count()));
  const Index n_output_part = (n_out + n_output - 1) / n_output;
  parts_.resize((n_in + n_input - 1) / n_input * n_output_part);
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    part.first_in = i / n_output_part * n_input;
    part.first_out = i % n_output_part * n_output;
    part.tiles.set_size(std::min(n_input, n_in - part.first_in),
                        std::min(n_output, n_out - part.first_out), n_part(engine));
    split_weights(W, transpose, part.first_out, part.first_in, part.tiles);
  }
}

void WeightProduct::multiply(blas::ConstView X, blas::View Y, bool add) const {
  if (product_engine(engine_, X.n_col) == Engine::float32) {
    blas::multiply(W_, transpose_, X, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W_, transpose_, X, Y);
  const Index block =
      even_part(X.n_col, most_block_columns, static_cast<Index>(blas::thread_count()));
#pragma omp parallel for schedule(dynamic)
  for (Index first = 0; first < X.n_col; first += block) {
    thread_local SplitColumns columns;
    const Index n_column = std::min(block, X.n_col - first);
    const blas::ConstView x = X.cols(first, n_column);
    const Part* last = nullptr;
    for (const Part& part : parts_) {
      if (last == nullptr || part.first_in != last->first_in) {
        columns.set(x.rows(part.first_in, part.tiles.n_in()), engine_);
      }
      multiply_tiles(columns.tiles_, 0, 0, part.tiles,
                     Y.rows(part.first_out, part.tiles.count()).cols(first, n_column),
                     add || part.first_in > 0);
      last = &part;
    }
  }
}

void WeightProduct::multiply_serial(const SplitColumns& X, Index first, blas::View Y) const {
  const blas::ConstView columns = X.X_.cols(first, Y.n_col);
  if (engine_ == Engine::float32) {
    blas::multiply_serial(W_, transpose_, columns, blas::Transpose::no, Y);
    return;
  }
  check_product(W_, transpose_, columns, Y);
  for (const Part& part : parts_) {
    multiply_tiles(X.tiles_, first, part.first_in, part.tiles,
                   Y.rows(part.first_out, part.tiles.count()), part.first_in > 0);
  }
}

std::uint64_t WeightProduct::bytes(Index n_in, Index n_out, Engine engine) {
  return Tiles::bytes(n_in, n_out, n_part(engine));
}

std::uint64_t WeightProduct::thread_bytes(Engine engine) {
  if (engine == Engine::float32) return 0;
  return most_weight_bytes + SplitColumns::bytes(most_inputs, most_block_columns, engine);
}

void multiply_weights(Engine engine, blas::ConstView W, blas::Transpose transpose,
                      blas::ConstView X, blas::View Y, bool add) {
  // Fresh pages would cost as much as the splitting.
  thread_local WeightProduct product;
  product.set(W, transpose, product_engine(engine, X.n_col));
  product.multiply(X, Y, add);
}

}  // namespace headscope
