#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headscope {

using Shape = std::vector<std::size_t>;

/// The product of the extents. @throws ShapeError if it overflows.
std::size_t element_count(const Shape& shape);

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
};

}  // namespace headscope
