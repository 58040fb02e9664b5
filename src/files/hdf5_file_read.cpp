#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "base/finite.hpp"
#include "files/file_digest.hpp"
#include "files/hdf5_dataset.hpp"
#include "files/hdf5_file.hpp"
#include "files/hdf5_file_heap.hpp"
#include "files/hdf5_file_source.hpp"
#include "files/read_file.hpp"

namespace headscope::hdf5 {
namespace {

constexpr std::size_t deepest_group = 32;

// Sorting, HDF5 1.10 frees pointers it never set when the names of a damaged group cannot be read.
constexpr H5_iter_order_t unsorted = H5_ITER_NATIVE;

constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

template <typename Real>
void read_real(const OpenDataset& open, std::span<Real> out) {
  const Place& place = open.place;
  const std::size_t size = H5Tget_size(open.type);
  if (kind_of(open.type) != Kind::real || (size != 2 && size != 4 && size != 8)) {
    throw place.error("expected type float16, float32 or float64, got " + type_text(open.type));
  }
  check_stored(open);
  const std::size_t count = element_count(open.shape, sizeof(Real), place);
  if (count != out.size()) {
    throw place.error("expected " + std::to_string(out.size()) + " elements, got " +
                      std::to_string(count));
  }
  if (count == 0) return;
  const hid_t memory_type = std::is_same_v<Real, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  if (H5Dread(open.dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) < 0) {
    throw place.error(reading_failure(open));
  }
}

// Text of either kind, read from a dataset or an attribute by `read(memory type, buffer)`.
template <typename Read>
std::vector<std::string> read_text(hid_t file, GlobalHeap& heap, hid_t type, std::size_t count,
                                   const Place& place, Read read) {
  std::vector<std::string> texts(count);
  if (count == 0) return texts;
  if (place.check(H5Tis_variable_str(type), damaged) > 0) {
    const auto elements = heap.read_elements(source_of(file, place), count, 1, place, read);
    for (std::size_t i = 0; i < count; ++i) {
      texts[i] = elements[i].substr(0, elements[i].find('\0'));
    }
    return texts;
  }
  const std::size_t width = H5Tget_size(type);
  std::vector<char> bytes(element_count({count}, width, place) * width);
  place.check(read(type, bytes.data()), damaged);
  const bool space_padded = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
  for (std::size_t i = 0; i < count; ++i) {
    const char* const begin = bytes.data() + i * width;
    std::size_t length = ::strnlen(begin, width);
    while (space_padded && length > 0 && begin[length - 1] == ' ') --length;
    texts[i].assign(begin, length);
  }
  return texts;
}

template <typename Value>
Attribute one_or_many(std::vector<Value> values, bool scalar) {
  if (scalar) return std::move(values.at(0));
  return values;
}

struct Listing {
  std::vector<std::string> groups, datasets;
  std::set<haddr_t> seen;
};

herr_t add_name(const char* name, void* names) {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

herr_t list_link(hid_t, const char* name, const H5L_info_t* info, void* names) {
  return info->type == H5L_TYPE_HARD ? add_name(name, names) : 0;
}

herr_t list_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
  return add_name(name, names);
}

// The attribute that lists each axis's scales, if there is one.
Handle list_of_scales(const OpenDataset& open) {
  constexpr const char* name = "DIMENSION_LIST";
  const Place& place = open.place;
  if (place.check(H5Aexists(open.dataset, name), damaged) == 0) return {};
  Handle attribute = place.handle(H5Aopen(open.dataset, name, H5P_DEFAULT), H5Aclose, damaged);
  const Handle type = place.handle(H5Aget_type(attribute), H5Tclose, damaged);
  const Handle space = place.handle(H5Aget_space(attribute), H5Sclose, damaged);
  const Handle item(H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : -1, H5Tclose);
  if (item < 0 || H5Tequal(item, H5T_STD_REF_OBJ) <= 0 ||
      shape_of(space, place) != Shape{open.shape.size()}) {
    throw place.error("expected a list of dimension scales for each axis, got another " +
                      std::string(name));
  }
  return attribute;
}

// The path of the object at this address, without its leading slash.
std::string path_of(hid_t file, hobj_ref_t address, const Place& place) {
  const Handle object =
      place.handle(H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &address), H5Oclose, damaged);
  std::array<char, 1024> path{};
  const ssize_t length = H5Iget_name(object, path.data(), path.size());
  if (length < 1 || static_cast<std::size_t>(length) >= path.size()) throw place.error(damaged);
  return path.data() + 1;
}

}  // namespace

struct InputFile::Data {
  std::string path;
  std::size_t file_size = 0;
  Handle file;
  mutable GlobalHeap heap;

  Place at(const std::string& item) const { return {path, item}; }
  OpenDataset open(const std::string& dataset) const {
    return open_dataset(file, dataset, at(dataset));
  }
  Handle open_object(const std::string& name) const {
    silence();
    const Place place = at(name);
    return place.handle(
        H5Oopen(file, object_path(name).c_str(), inside_file(H5P_LINK_ACCESS, place)), H5Oclose,
        "no such dataset or group");
  }
  Listing list(const std::string& group) const {
    silence();
    Listing listing;
    list_into(group, 0, listing);
    return listing;
  }
  // HDF5's own traversal has no depth limit and can overflow the stack.
  void list_into(const std::string& group, std::size_t depth, Listing& listing) const {
    const Place place = at(group);
    if (depth > deepest_group) {
      throw place.error("expected groups nested at most " + std::to_string(deepest_group) +
                        " deep, got more");
    }
    const Handle access = inside_file(H5P_LINK_ACCESS, place);
    const auto info_of = [&](const std::string& name) {
      H5O_info_t info;
      place.check(
          H5Oget_info_by_name2(file, object_path(name).c_str(), &info, H5O_INFO_BASIC, access),
          damaged);
      return info;
    };
    if (depth == 0) listing.seen.insert(info_of(group).addr);
    std::vector<std::string> names;
    place.check(H5Literate_by_name(file, object_path(group).c_str(), H5_INDEX_NAME, unsorted,
                                   nullptr, list_link, &names, access),
                damaged);
    std::ranges::sort(names);
    for (const std::string& name : names) {
      const std::string inner = group.empty() ? name : group + "/" + name;
      const H5O_info_t info = info_of(inner);
      if (!listing.seen.insert(info.addr).second) continue;
      if (info.type == H5O_TYPE_DATASET) listing.datasets.push_back(inner);
      if (info.type != H5O_TYPE_GROUP) continue;
      listing.groups.push_back(inner);
      list_into(inner, depth + 1, listing);
    }
  }
};

bool InputFile::recognises(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream stream(path, std::ios::binary);
  std::array<char, signature.size()> begin{};
  return stream.read(begin.data(), begin.size()) &&
         std::memcmp(begin.data(), signature.data(), signature.size()) == 0;
}

InputFile::InputFile(const std::string& path, Digest digest) : data_(std::make_unique<Data>()) {
  silence();
  data_->path = path;
  const Place place = {path, ""};
  data_->file_size = static_cast<std::size_t>(open_to_read(path).seekg(0, std::ios::end).tellg());
  if (data_->file_size == 0) throw place.error("expected an HDF5 file, got an empty one");
  if (!recognises(path)) throw place.error("expected an HDF5 file, got a file of another kind");
  if (digest == Digest::checked) check_digest(path);
  const Handle access = place.handle(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "out of memory");
  use_checked_source(access, place);
  data_->file = place.handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose, damaged);
}

InputFile::~InputFile() = default;

const std::string& InputFile::path() const {
  return data_->path;
}

std::vector<DatasetInfo> InputFile::datasets(const std::string& group) const {
  std::vector<DatasetInfo> infos;
  for (const std::string& name : data_->list(group).datasets) infos.push_back(info(name));
  return infos;
}

std::vector<std::string> InputFile::groups(const std::string& group) const {
  return data_->list(group).groups;
}

bool InputFile::has(const std::string& name) const {
  silence();
  const Handle access = inside_file(H5P_LINK_ACCESS, data_->at(name));
  for (std::size_t slash = 0; slash != std::string::npos;) {
    slash = name.find('/', slash + 1);
    if (H5Lexists(data_->file, object_path(name.substr(0, slash)).c_str(), access) <= 0) {
      return false;
    }
  }
  return H5Oexists_by_name(data_->file, object_path(name).c_str(), access) > 0;
}

DatasetInfo InputFile::info(const std::string& dataset) const {
  OpenDataset open = data_->open(dataset);
  return {dataset, std::move(open.shape), kind_of(open.type), type_text(open.type)};
}

void InputFile::check_size(const std::string& dataset) const {
  const OpenDataset open = data_->open(dataset);
  check_stored(open);
}

Array InputFile::read_reals(const std::string& dataset) const {
  const OpenDataset open = data_->open(dataset);
  check_stored(open);
  Array array(open.shape);
  read_real(open, std::span(array.values));
  return array;
}

void InputFile::read(const std::string& dataset, std::span<float> out) const {
  const OpenDataset open = data_->open(dataset);
  read_real(open, out);
  check_finite(out, open.shape, open.place.file, open.place.item);
}

std::vector<std::int64_t> InputFile::read_integers(const std::string& dataset) const {
  const OpenDataset open = data_->open(dataset);
  if (kind_of(open.type) != Kind::integer) {
    throw open.place.error("expected whole numbers, got " + type_text(open.type));
  }
  check_stored(open);
  std::vector<std::int64_t> values(element_count(open.shape, sizeof(std::int64_t), open.place));
  if (values.empty()) return values;
  // Read as signed numbers, HDF5 would make any above INT64_MAX INT64_MAX.
  const bool is_unsigned =
      H5Tget_class(open.type) == H5T_INTEGER && H5Tget_sign(open.type) == H5T_SGN_NONE;
  if (H5Dread(open.dataset, is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64, H5S_ALL, H5S_ALL,
              H5P_DEFAULT, values.data()) < 0) {
    throw open.place.error(reading_failure(open));
  }
  const auto negative = std::ranges::find_if(values, [](std::int64_t value) { return value < 0; });
  if (is_unsigned && negative != values.end()) {
    throw open.place.error("expected numbers up to " +
                           std::to_string(std::numeric_limits<std::int64_t>::max()) + ", got " +
                           std::to_string(static_cast<std::uint64_t>(*negative)) + " at position " +
                           std::to_string(negative - values.begin()));
  }
  return values;
}

std::vector<std::string> InputFile::read_strings(const std::string& dataset) const {
  const OpenDataset open = data_->open(dataset);
  if (kind_of(open.type) != Kind::text) {
    throw open.place.error("expected text, got " + type_text(open.type));
  }
  check_stored(open);
  const std::size_t count = element_count(open.shape, sizeof(std::string), open.place);
  const auto read = [&](hid_t type, void* buffer) {
    return H5Dread(open.dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
  };
  return read_text(data_->file, data_->heap, open.type, count, open.place, read);
}

std::vector<std::string> InputFile::attribute_names(const std::string& object) const {
  const Handle opened = data_->open_object(object);
  std::vector<std::string> all, readable;
  hsize_t position = 0;
  data_->at(object).check(
      H5Aiterate2(opened, H5_INDEX_NAME, unsorted, &position, list_attribute, &all), damaged);
  std::ranges::sort(all);
  for (std::string& name : all) {
    const Handle attribute =
        data_->at(object).handle(H5Aopen(opened, name.c_str(), H5P_DEFAULT), H5Aclose, damaged);
    const Handle type = data_->at(object).handle(H5Aget_type(attribute), H5Tclose, damaged);
    if (kind_of(type) != Kind::other) readable.push_back(std::move(name));
  }
  return readable;
}

std::optional<Attribute> InputFile::attribute(const std::string& object,
                                              const std::string& name) const {
  const Handle opened = data_->open_object(object);
  const std::string item = object.empty() ? name : object + "@" + name;
  const Place place = data_->at(item);
  if (place.check(H5Aexists(opened, name.c_str()), damaged) == 0) return std::nullopt;
  const Handle attribute =
      place.handle(H5Aopen(opened, name.c_str(), H5P_DEFAULT), H5Aclose, damaged);
  const Handle type = place.handle(H5Aget_type(attribute), H5Tclose, damaged);
  const Handle space = place.handle(H5Aget_space(attribute), H5Sclose, damaged);
  const Shape shape = shape_of(space, place);
  const std::size_t count = element_count(shape, sizeof(std::string), place);
  // Attributes are never compressed, so the file's size bounds them.
  const std::size_t size = H5Tget_size(type);
  if (element_count(shape, size, place) * size > data_->file_size) throw place.error(damaged);
  const bool scalar = shape.empty();
  const auto numbers = [&]<typename Number>(Number, hid_t memory_type) {
    std::vector<Number> values(count);
    if (count > 0) place.check(H5Aread(attribute, memory_type, values.data()), damaged);
    return one_or_many(std::move(values), scalar);
  };
  switch (kind_of(type)) {
    case Kind::real:
      return numbers(double{}, H5T_NATIVE_DOUBLE);
    case Kind::integer:
      return numbers(std::int64_t{}, H5T_NATIVE_INT64);
    case Kind::text:
      return one_or_many(read_text(data_->file, data_->heap, type, count, place,
                                   [&](hid_t memory_type, void* buffer) {
                                     return H5Aread(attribute, memory_type, buffer);
                                   }),
                         scalar);
    case Kind::other:
      break;
  }
  return std::nullopt;
}

bool InputFile::is_scale(const std::string& dataset) const {
  return attribute(dataset, "CLASS") == Attribute(std::string("DIMENSION_SCALE"));
}

std::vector<std::string> InputFile::scales(const std::string& dataset) const {
  const OpenDataset open = data_->open(dataset);
  const Place& place = open.place;
  std::vector<std::string> names(open.shape.size());
  const Handle list = list_of_scales(open);
  if (list < 0) return names;
  const auto read = [&](hid_t type, void* buffer) { return H5Aread(list, type, buffer); };
  const Source& source = source_of(data_->file, place);
  const auto scales =
      data_->heap.read_elements(source, names.size(), source.address_bytes, place, read);
  for (std::size_t axis = 0; axis < names.size(); ++axis) {
    if (scales[axis].empty()) continue;
    const std::string_view address = scales[axis].substr(0, source.address_bytes);
    names[axis] = path_of(data_->file, little_endian(address), place);
  }
  return names;
}

}  // namespace headscope::hdf5
