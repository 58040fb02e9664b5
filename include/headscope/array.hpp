#pragma once

#include <armadillo>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headscope {

using Shape = std::vector<std::size_t>;

/// The product of the extents. @throws ShapeError if it overflows.
std::size_t element_count(const Shape& shape);

/// The place along each axis of the element at a row-major offset.
std::vector<std::size_t> unravelled(std::size_t offset, const Shape& shape);

/// A dense n-dimensional array of doubles, row-major as in the files: the last axis runs fastest.
struct Array {
  Shape shape;
  std::vector<double> values;

  Array() = default;
  /// Fills all elements with `value`. @throws ShapeError if the product of the extents overflows.
  explicit Array(Shape extents, double value = 0);
  /// @throws ShapeError if the count does not fit the shape.
  Array(Shape extents, std::vector<double> elements);

  std::size_t size() const { return values.size(); }

  /// A copy of slice `index` along the first axis: of a layer x head x query array, one layer's
  /// head x query. @throws ShapeError if there is no axis or `index` is out of range.
  Array part(std::size_t index) const;
  /// A copy of slice `index` along the last axis: of a layer x head x offset array, layer x head.
  /// @throws ShapeError likewise.
  Array at_last(std::size_t index) const;
  /// A copy with a function applied to every value.
  template <typename Function>
  Array mapped(const Function& function) const {
    Array result = *this;
    for (double& value : result.values) value = function(value);
    return result;
  }
  /// The sum of the slices along the first axis, each times its weight; those of weight 0 are left
  /// out, whatever they hold. @throws ShapeError if there is not a weight for each.
  Array weighted_sum(std::span<const std::uint32_t> weights) const;

  /// The matrix over the last two axes at `index`, an entry for each axis before them.
  template <typename... I>
  arma::mat matrix(I... index) const {
    return copied({static_cast<std::size_t>(index)...});
  }
  /// Sets that matrix. @throws ShapeError if its shape is another.
  template <typename... I>
  void set(const arma::mat& values_at, I... index) {
    assign(values_at, {static_cast<std::size_t>(index)...});
  }

  template <typename... I>
  double& operator()(I... index) {
    return values[offset({static_cast<std::size_t>(index)...})];
  }
  template <typename... I>
  double operator()(I... index) const {
    return values[offset({static_cast<std::size_t>(index)...})];
  }

 private:
  std::size_t offset(std::initializer_list<std::size_t> index) const;
  arma::mat copied(std::initializer_list<std::size_t> index) const;
  void assign(const arma::mat& matrix, std::initializer_list<std::size_t> index);
};

}  // namespace headscope
