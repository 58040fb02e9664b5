#include "headscope/blas.hpp"

#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <latch>
#include <limits>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/thread_count.hpp"
#include "headscope/error.hpp"

namespace headscope::blas {
namespace {

// Blocks handed to threads start at multiples of the widest register tile, so that no thread is
// left with a ragged edge.
constexpr Index block_alignment = 16;

// Below this many multiply-adds waking the threads costs more than it saves.
constexpr double least_parallel_work = 4e6;

void hold_openblas_to_one_thread() {
  static const bool held = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(held);
}

std::string shape(Index n_row, Index n_col) {
  return shape_text(std::array<std::size_t, 2>{n_row, n_col});
}

struct Product {
  ConstView A, B;
  Transpose transpose_A, transpose_B;
  View C;
  float alpha, beta;

  Index inner() const { return transpose_A == Transpose::yes ? A.n_row : A.n_col; }

  void check() const {
    const bool a = transpose_A == Transpose::yes, b = transpose_B == Transpose::yes;
    const Index rows = a ? A.n_col : A.n_row, cols = b ? B.n_row : B.n_col;
    const Index inner_B = b ? B.n_col : B.n_row;
    if (inner() != inner_B || rows != C.n_row || cols != C.n_col) {
      throw ShapeError("matrix product: " + shape(rows, inner()) + " times " +
                       shape(inner_B, cols) + " does not fit " + shape(C.n_row, C.n_col));
    }
    constexpr Index most = std::numeric_limits<blasint>::max();
    const Index largest = std::max({rows, cols, inner(), A.stride, B.stride, C.stride});
    if (largest > most) {
      throw ShapeError("matrix product: expected sizes and strides up to " + std::to_string(most) +
                       ", got " + std::to_string(largest));
    }
  }

  // Fills rows [row, row_end) and columns [col, col_end) of C.
  void compute(Index row, Index row_end, Index col, Index col_end) const {
    if (row >= row_end || col >= col_end) return;
    const bool a = transpose_A == Transpose::yes, b = transpose_B == Transpose::yes;
    const float* const A_block = A.data + (a ? row * A.stride : row);
    const float* const B_block = B.data + (b ? col : col * B.stride);
    const auto blas_int = [](Index value) { return static_cast<blasint>(value); };
    cblas_sgemm(CblasColMajor, a ? CblasTrans : CblasNoTrans, b ? CblasTrans : CblasNoTrans,
                blas_int(row_end - row), blas_int(col_end - col), blas_int(inner()), alpha, A_block,
                blas_int(std::max<Index>(A.stride, 1)), B_block,
                blas_int(std::max<Index>(B.stride, 1)), beta, C.data + row + col * C.stride,
                blas_int(std::max<Index>(C.stride, 1)));
  }
};

// Where a block starts if [0, count) is cut into `n_block` nearly equal aligned ones.
Index block_start(Index block, Index n_block, Index count) {
  if (block == n_block) return count;
  const Index exact = count * block / n_block;
  return exact / block_alignment * block_alignment;
}

// Number of blocks of rows in the thread grid with the least packing: each thread packs its rows of
// A and its columns of B.
Index row_blocks(Index n_thread, Index n_row, Index n_col) {
  Index best = 1;
  double least = -1;
  for (Index rows = 1; rows <= n_thread; ++rows) {
    if (n_thread % rows != 0) continue;
    const Index columns = n_thread / rows;
    const double packed = static_cast<double>(n_row) / static_cast<double>(rows) +
                          static_cast<double>(n_col) / static_cast<double>(columns);
    if (least < 0 || packed < least) {
      least = packed;
      best = rows;
    }
  }
  return best;
}

// OpenMP would end the program where the system refuses a thread.
void check_threads_start(int count) {
  static int n_started = 1;
  if (count <= n_started) return;
  std::latch end(1);
  std::vector<std::thread> threads;
  std::string failure;
  try {
    while (static_cast<int>(threads.size()) + 1 < count) {
      threads.emplace_back([&end] { end.wait(); });
    }
  } catch (const std::system_error& error) {
    failure = error.code().message();
  }
  end.count_down();
  for (std::thread& thread : threads) thread.join();
  if (failure.empty()) {
    n_started = count;
    return;
  }
  throw Error("threads: expected to start " + std::to_string(count) + ", got " +
                  std::to_string(threads.size() + 1) + ": " + failure,
              Remedy::fewer_threads);
}

}  // namespace

void multiply_serial(ConstView A, Transpose transpose_A, ConstView B, Transpose transpose_B, View C,
                     float alpha, float beta) {
  const Product product{A, B, transpose_A, transpose_B, C, alpha, beta};
  product.check();
  hold_openblas_to_one_thread();
  product.compute(0, C.n_row, 0, C.n_col);
}

void multiply(ConstView A, Transpose transpose_A, ConstView B, Transpose transpose_B, View C,
              float alpha, float beta) {
  const Product product{A, B, transpose_A, transpose_B, C, alpha, beta};
  product.check();
  hold_openblas_to_one_thread();
  const auto n_thread = static_cast<Index>(thread_count());
  const double work = static_cast<double>(C.n_row) * static_cast<double>(C.n_col) *
                      static_cast<double>(product.inner());
  if (n_thread == 1 || omp_in_parallel() != 0 || work < least_parallel_work) {
    product.compute(0, C.n_row, 0, C.n_col);
    return;
  }
  const Index n_row_block = row_blocks(n_thread, C.n_row, C.n_col);
  const Index n_col_block = n_thread / n_row_block;
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(n_thread))
  for (Index block = 0; block < n_thread; ++block) {
    const Index r = block % n_row_block, c = block / n_row_block;
    product.compute(block_start(r, n_row_block, C.n_row), block_start(r + 1, n_row_block, C.n_row),
                    block_start(c, n_col_block, C.n_col), block_start(c + 1, n_col_block, C.n_col));
  }
}

void set_thread_count(int count) {
  hold_openblas_to_one_thread();
  if (count <= 0) count = default_thread_count().count;
  count = std::min(count, omp_get_thread_limit());
  check_threads_start(count);
  omp_set_dynamic(0);
  omp_set_num_threads(count);
}

int thread_count() {
  return omp_get_max_threads();
}

std::string library_description() {
  const std::string config = openblas_get_config();  // `OpenBLAS 0.3.21 NO_LAPACKE ...`
  const auto name_end = config.find(' ');
  const auto version_end =
      name_end == std::string::npos ? name_end : config.find(' ', name_end + 1);
  return config.substr(0, version_end) + ' ' + openblas_get_corename();
}

}  // namespace headscope::blas
