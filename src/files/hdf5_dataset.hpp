#pragma once

#include <string>

#include "files/hdf5_call.hpp"
#include "files/hdf5_file.hpp"

/// Opening a dataset of a file that nobody vouches for, and what its type and shape are. Every
/// function throws DataError at `place`.
namespace headscope::hdf5 {

Kind kind_of(hid_t type);
/// `float32`, `big-endian float64`, `int64`, `text`.
std::string type_text(hid_t type);
Shape shape_of(hid_t space, const Place& place);

/// @throws DataError if elements of that size do not fit into this machine's address space.
std::size_t element_count(const Shape& shape, std::size_t element_size, const Place& place);

/// Properties for opening an object without following links into other files.
/// @param list_class  H5P_DATASET_ACCESS or H5P_LINK_ACCESS.
Handle inside_file(hid_t list_class, const Place& place);

struct OpenDataset {
  Place place;
  Handle dataset, type, space;
  Shape shape;
};

/// @throws DataError if there is none of that name.
OpenDataset open_dataset(hid_t file, const std::string& name, const Place& place);

/// A small file can declare any shape: call it before allocating memory for a dataset.
/// @throws DataError if the file stores too little for the shape, or the data lie in another file.
void check_stored(const OpenDataset& open);

/// Why reading the data of an open dataset failed: `damaged`, or a filter that is not installed.
std::string reading_failure(const OpenDataset& open);

}  // namespace headscope::hdf5
