#include "compute/weight_product.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "compute/bfloat16_weights.hpp"
#include "compute/cache_line.hpp"
#include "compute/part_product.hpp"
#include "compute/rounded.hpp"
#include "compute/vector_math.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

// Columns of activations that a thread takes at a time.
constexpr Index most_block_columns = most_low_precision_rows, least_block_columns = 32;
// The size of one int8 product: both parts of its weights (about 1 MB) stay in a core's cache while
// the columns of a block go by, and so do its sums.
constexpr Index most_int8_weights = 768 * 768, int8_columns = 64, int8_output_multiple = 64;

Index rounded_up(Index count, Index multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// Outputs of one of the equal int8 products that weights are cut into.
Index int8_outputs(Index n_in, Index n_out) {
  constexpr Index multiple = int8_output_multiple;
  const Index limit = std::max(multiple, most_int8_weights / n_in / multiple * multiple);
  const Index n_product = (n_out + limit - 1) / limit;
  return std::min(n_out, rounded_up((n_out + n_product - 1) / n_product, multiple));
}

// s (256 high + cross), s being scale times the output's own.
HEADSCOPE_VECTORISED void write_fixed_point(const std::int32_t* high, const std::int32_t* cross,
                                            const float* output_scales, float scale, Index n,
                                            float* y) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    y[i] = (256.0F * static_cast<float>(high[i]) + static_cast<float>(cross[i])) *
           (output_scales[i] * scale);
  }
}

HEADSCOPE_VECTORISED void add_fixed_point(const std::int32_t* high, const std::int32_t* cross,
                                          const float* output_scales, float scale, Index n,
                                          float* y) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    y[i] += (256.0F * static_cast<float>(high[i]) + static_cast<float>(cross[i])) *
            (output_scales[i] * scale);
  }
}

// Work space of the calling thread.
template <typename Part, typename Sum>
struct BlockScratch {
  CacheLines<Part> high, low;   // of a block of activations
  CacheLines<Sum> sums, cross;  // high times high; high times low and low times high

  static BlockScratch& of_thread(Index n_in, Index n_sum) {
    thread_local BlockScratch scratch;
    const auto grow = [](auto& values, std::size_t size) {
      if (values.size() < size) values.resize(size);
    };
    grow(scratch.high, n_in * most_block_columns);
    grow(scratch.low, n_in * most_block_columns);
    grow(scratch.sums, n_sum);
    grow(scratch.cross, n_sum);
    return scratch;
  }
};

// The weights of `count` outputs from `first` on, one output after the other.
template <typename Visit>
void for_each_output(blas::ConstView W, bool transposed, Index first, Index count,
                     const Visit& visit) {
  const Index n_in = transposed ? W.n_row : W.n_col;
  std::vector<float> weights(n_in);
  for (Index o = 0; o < count; ++o) {
    for (Index i = 0; i < n_in; ++i) {
      weights[i] =
          transposed ? W.data[i + (first + o) * W.stride] : W.data[first + o + i * W.stride];
    }
    visit(o, weights);
  }
}

}  // namespace

class WeightProduct::Packed {
 public:
  virtual ~Packed() = default;
  // At most most_block_columns columns, on the calling thread.
  virtual void multiply(blas::ConstView X, blas::View Y, bool add) const = 0;
  virtual void multiply(const SplitColumns& X, Index first, blas::View Y, bool add) const = 0;

 protected:
  Packed(blas::ConstView W, bool transposed)
      : n_in_(transposed ? W.n_row : W.n_col), n_out_(transposed ? W.n_col : W.n_row) {}

  Index n_in_, n_out_;
};

class WeightProduct::PackedBfloat16 : public WeightProduct::Packed {
 public:
  PackedBfloat16(blas::ConstView W, bool transposed, bool three, bool emulated)
      : Packed(W, transposed), weights_(n_in_, n_out_, three, emulated) {
    Bfloat16Weights::Scratch scratch;
    weights_.pack(W, transposed, scratch);
  }

  void multiply(blas::ConstView X, blas::View Y, bool add) const override {
    auto& scratch = scratch_of_thread();
    for (Index c = 0; c < X.n_col; ++c) {
      const float* const x = X.data + c * X.stride;
      Bfloat16* const high = scratch.high.data() + c * n_in_;
      if (weights_.is_split()) {
        split_bfloat16(x, n_in_, high, scratch.low.data() + c * n_in_);
      } else {
        round_bfloat16(x, n_in_, high);
      }
    }
    multiply_parts(scratch.high.data(), scratch.low.data(), Y, add);
  }

  void multiply(const SplitColumns& X, Index first, blas::View Y, bool add) const override {
    const Bfloat16* const low =
        weights_.is_split() ? X.bfloat16_low_.data() + first * n_in_ : nullptr;
    multiply_parts(X.bfloat16_high_.data() + first * n_in_, low, Y, add);
  }

 private:
  BlockScratch<Bfloat16, float>& scratch_of_thread() const {
    return BlockScratch<Bfloat16, float>::of_thread(n_in_, n_out_ * most_block_columns);
  }

  void multiply_parts(const Bfloat16* high, const Bfloat16* low, blas::View Y, bool add) const {
    if (Y.stride == n_out_ && Y.n_col == padded_rows(Y.n_col)) {
      weights_.multiply(high, low, Y.n_col, add, Y.data);
      return;
    }
    float* const sums = scratch_of_thread().sums.data();
    weights_.multiply(high, low, Y.n_col, false, sums);
    write_sums(sums, add, Y);
  }

  Bfloat16Weights weights_;
};

class WeightProduct::PackedInt8 : public WeightProduct::Packed {
 public:
  PackedInt8(blas::ConstView W, bool transposed, bool emulated)
      : Packed(W, transposed), outputs_(int8_outputs(n_in_, n_out_)), scales_(n_out_) {
    for (Index first = 0; first < n_out_; first += outputs_) {
      const Index n_out = std::min(outputs_, n_out_ - first);
      CacheLines<std::int8_t> high(n_in_ * n_out), low(n_in_ * n_out);
      for_each_output(W, transposed, first, n_out, [&](Index o, const std::vector<float>& weights) {
        scales_[first + o] = 256 * split_int8(weights.data(), n_in_, high.data() + o * n_in_,
                                              low.data() + o * n_in_);
      });
      Parts& parts = parts_.emplace_back(
          Parts{{n_in_, n_out, int8_columns, emulated}, {n_in_, n_out, int8_columns, emulated}});
      parts.high.pack(high.data(), WeightOrder::by_output);
      parts.low.pack(low.data(), WeightOrder::by_output);
    }
  }

  void multiply(blas::ConstView X, blas::View Y, bool add) const override {
    auto& scratch = scratch_of_thread();
    std::array<float, most_block_columns> scales;
    for (Index c = 0; c < X.n_col; ++c) {
      scales[c] = split_int8(X.data + c * X.stride, n_in_, scratch.high.data() + c * n_in_,
                             scratch.low.data() + c * n_in_);
    }
    multiply_parts(scratch.high.data(), scratch.low.data(), scales.data(), Y, add);
  }

  void multiply(const SplitColumns& X, Index first, blas::View Y, bool add) const override {
    multiply_parts(X.int8_high_.data() + first * n_in_, X.int8_low_.data() + first * n_in_,
                   X.scales_.data() + first, Y, add);
  }

 private:
  using Product = PartProduct<std::int8_t, std::int32_t>;
  struct Parts {
    Product high, low;
  };

  BlockScratch<std::int8_t, std::int32_t>& scratch_of_thread() const {
    return BlockScratch<std::int8_t, std::int32_t>::of_thread(n_in_, outputs_ * int8_columns);
  }

  void multiply_parts(const std::int8_t* high, const std::int8_t* low, const float* scales,
                      blas::View Y, bool add) const {
    for (Index i = 0; i < parts_.size(); ++i) {
      const Index first = i * outputs_, n_out = std::min(outputs_, n_out_ - first);
      for (Index c = 0; c < Y.n_col; c += int8_columns) {
        const Index n_col = std::min(int8_columns, Y.n_col - c);
        multiply_outputs(parts_[i], high + c * n_in_, low + c * n_in_, scales_.data() + first,
                         scales + c, Y.rows(first, n_out).cols(c, n_col), add);
      }
    }
  }

  void multiply_outputs(const Parts& weights, const std::int8_t* high, const std::int8_t* low,
                        const float* output_scales, const float* scales, blas::View Y,
                        bool add) const {
    auto& scratch = scratch_of_thread();
    weights.high.multiply(high, Y.n_col, false, scratch.sums.data());
    weights.high.multiply(low, Y.n_col, false, scratch.cross.data());
    weights.low.multiply(high, Y.n_col, true, scratch.cross.data());
    const auto write = add ? add_fixed_point : write_fixed_point;
    for (Index c = 0; c < Y.n_col; ++c) {
      write(scratch.sums.data() + c * Y.n_row, scratch.cross.data() + c * Y.n_row, output_scales,
            scales[c], Y.n_row, Y.data + c * Y.stride);
    }
  }

  Index outputs_;              // of one product; the last may have fewer
  std::vector<float> scales_;  // of the outputs, times 256
  std::vector<Parts> parts_;
};

void check_product(blas::ConstView W, blas::Transpose transpose, blas::ConstView X,
                   blas::ConstView Y) {
  const bool transposed = transpose == blas::Transpose::yes;
  check_count("rows of the activations", transposed ? W.n_row : W.n_col, X.n_row);
  check_count("rows of the product", transposed ? W.n_col : W.n_row, Y.n_row);
  check_count("columns of the product", X.n_col, Y.n_col);
}

SplitColumns::SplitColumns(blas::ConstView X, Engine engine) : X_(X) {
  if (engine == Engine::float32) return;
  // Products of the last columns may read up to a whole block.
  const std::size_t size = static_cast<std::size_t>(X.n_row) * (X.n_col + most_block_columns);
  const bool int8 = engine == Engine::int8_three;
  if (int8) {
    int8_high_.resize(size);
    int8_low_.resize(size);
    scales_.resize(X.n_col);
  } else {
    bfloat16_high_.resize(size);
    if (engine == Engine::bfloat16_three) bfloat16_low_.resize(size);
  }
#pragma omp parallel for schedule(static)
  for (Index c = 0; c < X.n_col; ++c) {
    const float* const x = X.data + c * X.stride;
    const Index begin = c * X.n_row;
    if (int8) {
      scales_[c] = split_int8(x, X.n_row, int8_high_.data() + begin, int8_low_.data() + begin);
    } else if (engine == Engine::bfloat16_three) {
      split_bfloat16(x, X.n_row, bfloat16_high_.data() + begin, bfloat16_low_.data() + begin);
    } else {
      round_bfloat16(x, X.n_row, bfloat16_high_.data() + begin);
    }
  }
}

void SplitColumns::join(Index column, float* x) const {
  const Index n = X_.n_row, begin = column * n;
  for (Index i = 0; i < n; ++i) {
    if (!int8_high_.empty()) {
      x[i] = scales_[column] * (256 * widen(int8_high_[begin + i]) + widen(int8_low_[begin + i]));
    } else if (!bfloat16_high_.empty()) {
      x[i] = widen(bfloat16_high_[begin + i]);
      if (!bfloat16_low_.empty()) x[i] += widen(bfloat16_low_[begin + i]);
    } else {
      x[i] = X_.data[column * X_.stride + i];
    }
  }
}

std::uint64_t SplitColumns::bytes(Index n_row, Index n_col, Engine engine) {
  return WeightProduct::bytes(static_cast<std::uint64_t>(n_row) * (n_col + most_block_columns),
                              engine);
}

WeightProduct::WeightProduct(blas::ConstView W, blas::Transpose transpose, Engine engine,
                             Means means)
    : W_(W), transpose_(transpose) {
  const bool transposed = transpose == blas::Transpose::yes, emulated = means == Means::emulated;
  if (engine == Engine::int8_three) {
    packed_ = std::make_unique<PackedInt8>(W, transposed, emulated);
  } else if (engine != Engine::float32) {
    packed_ =
        std::make_unique<PackedBfloat16>(W, transposed, engine == Engine::bfloat16_three, emulated);
  }
  if (packed_) W_.data = nullptr;  // not needed any more, and may be gone
}

WeightProduct::~WeightProduct() = default;
WeightProduct::WeightProduct(WeightProduct&&) noexcept = default;

void WeightProduct::multiply(blas::ConstView X, blas::View Y, bool add) const {
  if (!packed_) {
    blas::multiply(W_, transpose_, X, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W_, transpose_, X, Y);
  const auto n_thread = static_cast<Index>(blas::thread_count());
  const Index block = std::clamp(rounded_up(X.n_col / n_thread, least_block_columns),
                                 least_block_columns, most_block_columns);
#pragma omp parallel for schedule(dynamic)
  for (Index first = 0; first < X.n_col; first += block) {
    const Index count = std::min(block, X.n_col - first);
    packed_->multiply(X.cols(first, count), Y.cols(first, count), add);
  }
}

void WeightProduct::multiply_serial(blas::ConstView X, blas::View Y, bool add) const {
  if (!packed_) {
    blas::multiply_serial(W_, transpose_, X, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W_, transpose_, X, Y);
  for (Index first = 0; first < X.n_col; first += most_block_columns) {
    const Index count = std::min(most_block_columns, X.n_col - first);
    packed_->multiply(X.cols(first, count), Y.cols(first, count), add);
  }
}

void WeightProduct::multiply_serial(const SplitColumns& X, Index first, blas::View Y,
                                    bool add) const {
  if (!packed_) {
    multiply_serial(X.X_.cols(first, Y.n_col), Y, add);
    return;
  }
  check_product(W_, transpose_, X.X_.cols(first, Y.n_col), Y);
  for (Index c = 0; c < Y.n_col; c += most_block_columns) {
    const Index count = std::min(most_block_columns, Y.n_col - c);
    packed_->multiply(X, first + c, Y.cols(c, count), add);
  }
}

std::uint64_t WeightProduct::bytes(std::uint64_t n_weight, Engine engine) {
  switch (engine) {
    case Engine::bfloat16_three:
      return 4 * n_weight;
    case Engine::int8_three:
    case Engine::bfloat16_one:
      return 2 * n_weight;
    default:
      return 0;
  }
}

std::uint64_t WeightProduct::thread_bytes(Index n_out, Index n_in, Engine engine) {
  if (engine == Engine::float32) return 0;
  const std::uint64_t block = std::uint64_t{2} * most_block_columns;
  if (engine == Engine::int8_three) return block * n_in + std::uint64_t{8} * int8_columns * n_out;
  return block * 2 * n_in + block * sizeof(float) * n_out;
}

}  // namespace headscope
