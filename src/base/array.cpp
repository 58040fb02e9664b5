#include "headscope/array.hpp"

#include <algorithm>
#include <string>

#include "headscope/error.hpp"

namespace headscope {

std::size_t element_count(const Shape& shape) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      throw ShapeError("array shape " + shape_text(shape) + ": size overflows");
    }
  }
  return count;
}

Array::Array(Shape extents, double value)
    : shape(std::move(extents)), values(element_count(shape), value) {}

Array::Array(Shape extents, std::vector<double> elements)
    : shape(std::move(extents)), values(std::move(elements)) {
  check_count("elements of an array of shape " + shape_text(shape), element_count(shape),
              values.size());
}

Array Array::part(std::size_t index) const {
  if (shape.empty() || index >= shape[0]) {
    throw ShapeError("part " + std::to_string(index) + " of an array: expected one of its first " +
                     "axis, got shape " + shape_text(shape));
  }
  const std::size_t size = values.size() / shape[0];
  const auto begin = values.begin() + index * size;
  return {Shape(shape.begin() + 1, shape.end()), std::vector<double>(begin, begin + size)};
}

Array Array::at_last(std::size_t index) const {
  if (shape.empty() || index >= shape.back()) {
    throw ShapeError("slice " + std::to_string(index) + " of an array: expected one of its last " +
                     "axis, got shape " + shape_text(shape));
  }
  Array slice(Shape(shape.begin(), shape.end() - 1));
  for (std::size_t i = 0; i < slice.size(); ++i) slice.values[i] = values[i * shape.back() + index];
  return slice;
}

Array Array::weighted_sum(std::span<const std::uint32_t> weights) const {
  if (shape.empty() || shape[0] != weights.size()) {
    throw ShapeError("weighted sum of an array of shape " + shape_text(shape) + ": got " +
                     std::to_string(weights.size()) + " weights");
  }
  Array sum(Shape(shape.begin() + 1, shape.end()));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const double* const part = values.data() + i * sum.size();
    for (std::size_t j = 0; j < sum.size(); ++j) sum.values[j] += weights[i] * part[j];
  }
  return sum;
}

std::vector<std::size_t> unravelled(std::size_t offset, const Shape& shape) {
  std::vector<std::size_t> place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; offset /= shape[axis]) {
    place[axis] = offset % shape[axis];
  }
  return place;
}

arma::mat Array::copied(std::initializer_list<std::size_t> index) const {
  const std::size_t n_col = shape.back(), n_row = shape[shape.size() - 2];
  // Row-major, so that the columns of the copy are the rows of the matrix.
  return arma::mat(values.data() + offset(index) * n_row * n_col, n_col, n_row).t();
}

void Array::assign(const arma::mat& matrix, std::initializer_list<std::size_t> index) {
  const Shape expected{shape[shape.size() - 2], shape.back()}, got{matrix.n_rows, matrix.n_cols};
  if (expected != got) {
    throw ShapeError("matrix of an array: expected shape " + shape_text(expected) + ", got " +
                     shape_text(got));
  }
  const arma::mat rows = matrix.t();
  std::ranges::copy(rows, values.begin() + offset(index) * matrix.n_elem);
}

std::size_t Array::offset(std::initializer_list<std::size_t> index) const {
  std::size_t position = 0;
  auto extent = shape.begin();
  for (const std::size_t i : index) position = position * *extent++ + i;
  return position;
}

}  // namespace headscope
