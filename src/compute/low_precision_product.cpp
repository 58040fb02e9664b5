#include "compute/low_precision_product.hpp"

#include <algorithm>
#include <array>

#include "headscope/error.hpp"

#ifdef HEADSCOPE_WITH_ONEDNN
#include <omp.h>

#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "compute/buffer.hpp"
#include "headscope/processor.hpp"
#endif

namespace headscope {
namespace {

constexpr std::array<Index, 4> row_counts{32, 64, 128, most_low_precision_rows};

// Which of row_counts a product of `n_row` rows takes.
std::size_t row_count_of(Index n_row) {
  return static_cast<std::size_t>(std::ranges::lower_bound(row_counts, n_row) - row_counts.begin());
}

}  // namespace

Index padded_rows(Index n_row) {
  return row_counts[row_count_of(n_row)];
}

#ifdef HEADSCOPE_WITH_ONEDNN

namespace {

using DataType = dnnl::memory::data_type;
using Format = dnnl::memory::format_tag;

template <typename Type>
constexpr DataType data_type = std::is_same_v<Type, Bfloat16>      ? DataType::bf16
                               : std::is_same_v<Type, std::int8_t> ? DataType::s8
                               : std::is_same_v<Type, float>       ? DataType::f32
                                                                   : DataType::s32;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// Primitives work on the calling thread: blocks of columns are split over the threads outside.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

dnnl::stream& thread_stream() {
  thread_local dnnl::stream stream(cpu());
  return stream;
}

dnnl::memory::dim dim(Index n) {
  return static_cast<dnnl::memory::dim>(n);
}

// What one thread passes to the products of one shape.
class Operands {
 public:
  explicit Operands(const dnnl::matmul::primitive_desc& description)
      : X_(description.src_desc(), cpu(), nullptr),
        sums_(description.dst_desc(), cpu(), nullptr),
        scratch_(description.scratchpad_desc(), cpu(), nullptr),
        memories_{{DNNL_ARG_SRC, X_},
                  {DNNL_ARG_WEIGHTS, {}},
                  {DNNL_ARG_DST, sums_},
                  {DNNL_ARG_SCRATCHPAD, scratch_}} {}

  const std::unordered_map<int, dnnl::memory>& of(const void* X, const dnnl::memory& W,
                                                  void* sums) {
    // oneDNN takes no pointer to const; it only reads.
    X_.set_data_handle(const_cast<void*>(X));
    sums_.set_data_handle(sums);
    thread_local Buffer scratch;
    const Index n_scratch = scratch_.get_desc().get_size() / sizeof(float) + 1;
    scratch_.set_data_handle(scratch.matrix(n_scratch, 1).memptr());
    memories_.at(DNNL_ARG_WEIGHTS) = W;
    return memories_;
  }

 private:
  dnnl::memory X_, sums_, scratch_;
  std::unordered_map<int, dnnl::memory> memories_;
};

}  // namespace

/// Code for products of one shape, for weights of any values.
template <typename Part, typename Sum>
struct LowPrecisionProduct<Part, Sum>::Shape {
  struct Variant {
    dnnl::matmul::primitive_desc description;
    dnnl::matmul product;
  };

  Shape(Index n_in_given, Index n_out_given, Index most_rows)
      : n_in(n_in_given), n_out(n_out_given) {
    const OneThread one_thread;
    packed = make(most_rows, plain(Format::any), false).description.weights_desc();
    for (const WeightOrder order : {WeightOrder::by_input, WeightOrder::by_output}) {
      reorders[index(order)] = dnnl::reorder({cpu(), plain(format(order)), cpu(), packed});
    }
    for (std::size_t i = 0; i < row_counts.size() && row_counts[i] <= most_rows; ++i) {
      for (const bool add : {false, true}) {
        variants[i][add ? 1 : 0] = make(row_counts[i], packed, add);
      }
    }
  }

  // Made once for all weights of a shape.
  static const Shape& of(Index n_in, Index n_out, Index most_rows) {
    static std::mutex mutex;
    static std::map<std::array<Index, 3>, Shape> shapes;
    const std::lock_guard lock(mutex);
    return shapes.try_emplace({n_in, n_out, most_rows}, n_in, n_out, most_rows).first->second;
  }

  static std::size_t index(WeightOrder order) { return order == WeightOrder::by_input ? 0 : 1; }
  static Format format(WeightOrder order) {
    return order == WeightOrder::by_input ? Format::ab : Format::ba;
  }
  dnnl::memory::desc plain(Format format) const {
    return {{dim(n_in), dim(n_out)}, data_type<Part>, format};
  }

  Variant make(Index n_row, const dnnl::memory::desc& weights, bool add) const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (add) {
      dnnl::post_ops operations;
      operations.append_sum(1.0F);
      attributes.set_post_ops(operations);
    }
    const dnnl::memory::desc X({dim(n_row), dim(n_in)}, data_type<Part>, Format::ab);
    const dnnl::memory::desc sums({dim(n_row), dim(n_out)}, data_type<Sum>, Format::ab);
#if DNNL_VERSION_MAJOR < 3
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(X, weights, sums), attributes,
                                                   cpu());
#else
    const dnnl::matmul::primitive_desc description(cpu(), X, weights, sums, attributes);
#endif
    return {description, dnnl::matmul(description)};
  }

  Index n_in, n_out;
  dnnl::memory::desc packed;
  std::array<dnnl::reorder, 2> reorders;  // by order
  std::array<std::array<Variant, 2>, row_counts.size()> variants;
};

template <typename Part, typename Sum>
struct LowPrecisionProduct<Part, Sum>::Weights {
  explicit Weights(const Shape& shape) : packed(shape.packed, cpu()) {}
  dnnl::memory packed;
};

template <typename Part, typename Sum>
bool LowPrecisionProduct<Part, Sum>::is_supported() {
  static const Processor processor = this_processor();
  if (std::is_same_v<Part, Bfloat16>) return processor.amx_bf16 || processor.avx512_bf16;
  return processor.amx_int8;
}

template <typename Part, typename Sum>
LowPrecisionProduct<Part, Sum>::LowPrecisionProduct(Index n_in, Index n_out, Index most_rows)
    : shape_(Shape::of(n_in, n_out, padded_rows(most_rows))),
      weights_(std::make_unique<Weights>(shape_)) {}

template <typename Part, typename Sum>
void LowPrecisionProduct<Part, Sum>::pack(const Part* W, WeightOrder order) {
  const OneThread one_thread;
  // oneDNN takes no pointer to const; it only reads.
  dnnl::memory plain(shape_.plain(Shape::format(order)), cpu(), const_cast<Part*>(W));
  dnnl::stream& stream = thread_stream();
  shape_.reorders[Shape::index(order)].execute(stream, plain, weights_->packed);
  stream.wait();
}

template <typename Part, typename Sum>
void LowPrecisionProduct<Part, Sum>::multiply(const Part* X, Index n_row, bool add,
                                              Sum* sums) const {
  const std::size_t size = row_count_of(n_row);
  const auto& [description, product] = shape_.variants[size][add ? 1 : 0];
  // oneDNN's objects are kept, because to make them allocates several times.
  dnnl::stream& stream = thread_stream();
  thread_local std::map<std::array<Index, 4>, Operands> operands_of_shape;
  const std::array<Index, 4> shape{row_counts[size], shape_.n_in, shape_.n_out, add};
  Operands& operands = operands_of_shape.try_emplace(shape, description).first->second;
  product.execute(stream, operands.of(X, weights_->packed, sums));
  stream.wait();
}

#else

template <typename Part, typename Sum>
struct LowPrecisionProduct<Part, Sum>::Shape {};
template <typename Part, typename Sum>
struct LowPrecisionProduct<Part, Sum>::Weights {};

template <typename Part, typename Sum>
bool LowPrecisionProduct<Part, Sum>::is_supported() {
  return false;
}

template <typename Part, typename Sum>
LowPrecisionProduct<Part, Sum>::LowPrecisionProduct(Index, Index, Index)
    : shape_([]() -> const Shape& {
        throw Error("low-precision products: expected a build with oneDNN, got one without");
      }()) {}

template <typename Part, typename Sum>
void LowPrecisionProduct<Part, Sum>::pack(const Part*, WeightOrder) {}

template <typename Part, typename Sum>
void LowPrecisionProduct<Part, Sum>::multiply(const Part*, Index, bool, Sum*) const {}

#endif

template <typename Part, typename Sum>
LowPrecisionProduct<Part, Sum>::~LowPrecisionProduct() = default;
template <typename Part, typename Sum>
LowPrecisionProduct<Part, Sum>::LowPrecisionProduct(LowPrecisionProduct&&) noexcept = default;

template class LowPrecisionProduct<Bfloat16, float>;
template class LowPrecisionProduct<std::int8_t, std::int32_t>;

}  // namespace headscope
