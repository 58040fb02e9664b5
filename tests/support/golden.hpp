#pragma once

#include <functional>
#include <numeric>
#include <string>

#include "files/hdf5_file.hpp"
#include "headscope/types.hpp"

/// Reading the golden files of tests/data.
namespace headscope::test {

inline std::string data_path(const std::string& name) {
  return std::string(HEADSCOPE_TEST_DATA) + "/" + name;
}

/// A dataset with its axes reversed, as the library holds it. The first `n_slice_axis` axes become
/// slices, the next axis columns, and the others rows.
inline arma::cube read_slices(const hdf5::InputFile& file, const std::string& name,
                              std::size_t n_slice_axis) {
  const Array array = file.read_reals(name);
  const auto extent = [&](std::size_t first, std::size_t last) {
    return std::accumulate(array.shape.begin() + static_cast<std::ptrdiff_t>(first),
                           array.shape.begin() + static_cast<std::ptrdiff_t>(last), Index{1},
                           std::multiplies<>());
  };
  return arma::cube(array.values.data(), extent(n_slice_axis + 1, array.shape.size()),
                    array.shape[n_slice_axis], extent(0, n_slice_axis));
}

/// A dataset [column, ...rows] with its axes reversed; [n] becomes one row.
inline arma::mat read_matrix(const hdf5::InputFile& file, const std::string& name) {
  return read_slices(file, name, 0).slice(0);
}

inline Matrix narrow(const arma::mat& values) {
  return arma::conv_to<Matrix>::from(values);
}

inline TokenIds read_tokens(const hdf5::InputFile& file, const std::string& name) {
  const auto values = file.read_integers(name);
  return TokenIds(values.begin(), values.end());
}

inline double read_scalar(const hdf5::InputFile& file, const std::string& name) {
  return file.read_reals(name).values.at(0);
}

}  // namespace headscope::test
