#include "files/hdf5_dataset.hpp"

#include <array>

namespace headscope::hdf5 {
namespace {

static_assert(sizeof(hsize_t) == sizeof(std::size_t));

// Deflate, the strongest common filter, compresses at most 1032 bytes into one.
constexpr std::size_t greatest_compression = 1100;

std::size_t size_of_file(hid_t object, const Place& place) {
  const Handle file = place.handle(H5Iget_file_id(object), H5Fclose, damaged);
  hsize_t size = 0;
  place.check(H5Fget_filesize(file, &size), damaged);
  return size;
}

// Without this check HDF5 would silently fill in chunks that were never written.
void check_chunks(hid_t dataset, hid_t creation, const Shape& shape, const Place& place) {
  const Handle space = place.handle(H5Dget_space(dataset), H5Sclose, damaged);
  std::vector<hsize_t> chunk(shape.size());
  const int rank = H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  hsize_t expected = 1, stored = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (rank != static_cast<int>(shape.size()) || chunk[axis] == 0) throw place.error(damaged);
    expected *= (shape[axis] - 1) / chunk[axis] + 1;
  }
  place.check(H5Dget_num_chunks(dataset, space, &stored), damaged);
  if (stored >= expected) return;
  throw place.error("expected " + std::to_string(expected) + " chunks of data for shape " +
                    shape_text(shape) + ", got " + std::to_string(stored));
}

herr_t refuse_other_file(const char*, const char*, const char*, const char*, unsigned*, hid_t,
                         void*) {
  return -1;
}

}  // namespace

Kind kind_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return Kind::real;
    case H5T_INTEGER:
    case H5T_ENUM:
      return Kind::integer;
    case H5T_STRING:
      return Kind::text;
    default:
      return Kind::other;
  }
}

std::string type_text(hid_t type) {
  const std::size_t bits = 8 * H5Tget_size(type);
  const std::string order = H5Tget_order(type) == H5T_ORDER_BE && bits > 8 ? "big-endian " : "";
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return order + "float" + std::to_string(bits);
    case H5T_INTEGER:
      return order + (H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int") + std::to_string(bits);
    case H5T_ENUM:
      return "enumeration";
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "compound";
    case H5T_REFERENCE:
      return "reference";
    default:
      return "opaque";
  }
}

Shape shape_of(hid_t space, const Place& place) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return {0};
  const int rank = place.check(H5Sget_simple_extent_ndims(space), damaged);
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  place.check(H5Sget_simple_extent_dims(space, extents.data(), nullptr), damaged);
  return Shape(extents.begin(), extents.end());
}

std::size_t element_count(const Shape& shape, std::size_t element_size, const Place& place) {
  std::size_t count = 1;
  std::size_t bytes = 0;
  for (const std::size_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      throw place.error("shape " + shape_text(shape) + " is too large for this machine");
    }
  }
  if (__builtin_mul_overflow(count, element_size, &bytes)) {
    throw place.error("shape " + shape_text(shape) + " is too large for this machine");
  }
  return count;
}

void check_stored(const OpenDataset& open) {
  const auto& [place, dataset, type, space, shape] = open;
  const std::size_t element_size = H5Tget_size(type);
  const std::size_t bytes = element_count(shape, element_size, place) * element_size;
  const Handle creation = place.handle(H5Dget_create_plist(dataset), H5Pclose, damaged);
  const H5D_layout_t layout = H5Pget_layout(creation);
  if (layout == H5D_VIRTUAL || H5Pget_external_count(creation) > 0) {
    throw place.error("expected data inside the file, got a reference to another file");
  }
  const bool filtered = layout == H5D_CHUNKED && H5Pget_nfilters(creation) > 0;
  const std::size_t stored = H5Dget_storage_size(dataset);
  if (stored > size_of_file(dataset, place)) throw place.error(damaged);
  const std::size_t least = filtered ? bytes / greatest_compression : bytes;
  if (bytes > 0 && (stored == 0 || least > stored)) {
    throw place.error("expected data for shape " + shape_text(shape) + " (" +
                      std::to_string(bytes) + " bytes), got " + std::to_string(stored) +
                      " stored bytes");
  }
  if (bytes > 0 && layout == H5D_CHUNKED) check_chunks(dataset, creation, shape, place);
}

Handle inside_file(hid_t list_class, const Place& place) {
  Handle access = place.handle(H5Pcreate(list_class), H5Pclose, "out of memory");
  place.check(H5Pset_elink_cb(access, refuse_other_file, nullptr), "out of memory");
  return access;
}

OpenDataset open_dataset(hid_t file, const std::string& name, const Place& place) {
  silence();
  const Handle access = inside_file(H5P_DATASET_ACCESS, place);
  if (H5Lexists(file, object_path(name).c_str(), access) <= 0) {
    throw place.error("no such dataset");
  }
  OpenDataset open{.place = place, .dataset = {}, .type = {}, .space = {}, .shape = {}};
  open.dataset = place.handle(H5Dopen2(file, object_path(name).c_str(), access), H5Dclose, damaged);
  open.type = place.handle(H5Dget_type(open.dataset), H5Tclose, damaged);
  open.space = place.handle(H5Dget_space(open.dataset), H5Sclose, damaged);
  open.shape = shape_of(open.space, place);
  return open;
}

std::string reading_failure(const OpenDataset& open) {
  const Handle creation = open.place.handle(H5Dget_create_plist(open.dataset), H5Pclose, damaged);
  for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
    constexpr std::size_t longest_name = 100;
    std::array<char, longest_name> name{};
    std::size_t n_parameter = 0;
    unsigned flags = 0, configuration = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &n_parameter, nullptr,
                       name.size() - 1, name.data(), &configuration);
    if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
    return "is compressed by the HDF5 filter " + std::to_string(filter) +
           (name[0] != '\0' ? " (" + std::string(name.data()) + ")" : "") +
           ", which is not installed; h5repack -f GZIP=4 writes it so that it can be read";
  }
  return damaged;
}

}  // namespace headscope::hdf5
