#include "headscope/array.hpp"

#include <string>

#include "headscope/error.hpp"

namespace headscope {
namespace {

std::size_t element_count(const Shape& shape) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      throw ShapeError("array shape " + shape_text(shape) + ": size overflows");
    }
  }
  return count;
}

}  // namespace

Array::Array(Shape shape, double value)
    : shape(std::move(shape)), values(element_count(this->shape), value) {}

Array::Array(Shape shape, std::vector<double> values)
    : shape(std::move(shape)), values(std::move(values)) {
  check_count("elements of an array of shape " + shape_text(this->shape),
              element_count(this->shape), this->values.size());
}

std::size_t Array::offset(std::initializer_list<std::size_t> index) const {
  std::size_t position = 0;
  auto extent = shape.begin();
  for (const std::size_t i : index) position = position * *extent++ + i;
  return position;
}

}  // namespace headscope
