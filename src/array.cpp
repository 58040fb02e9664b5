#include "headscope/array.hpp"

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

std::size_t Array::offset(std::initializer_list<std::size_t> index) const {
  std::size_t position = 0;
  auto extent = shape.begin();
  for (const std::size_t i : index) position = position * *extent++ + i;
  return position;
}

}  // namespace headscope
