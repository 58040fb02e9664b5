#include <algorithm>
#include <cstring>
#include <type_traits>

#include "files/file_digest.hpp"
#include "files/hdf5_call.hpp"
#include "files/hdf5_file.hpp"
#include "files/hdf5_file_sink.hpp"
#include "files/pending_file.hpp"

namespace headscope::hdf5 {
namespace {

constexpr const char* unwritten = "cannot be written: HDF5 refused";
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

template <typename Value>
hid_t native_type() {
  if constexpr (std::is_same_v<Value, float>) return H5T_NATIVE_FLOAT;
  if constexpr (std::is_same_v<Value, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<Value, std::int64_t>) return H5T_NATIVE_INT64;
  if constexpr (std::is_same_v<Value, std::uint8_t>) return H5T_NATIVE_UINT8;
}

Handle text_type(const Place& place) {
  Handle type = place.handle(H5Tcopy(H5T_C_S1), H5Tclose, unwritten);
  place.check(H5Tset_size(type, H5T_VARIABLE), unwritten);
  place.check(H5Tset_cset(type, H5T_CSET_UTF8), unwritten);
  return type;
}

Handle make_space(const Shape& shape, const Place& place) {
  if (shape.empty()) return place.handle(H5Screate(H5S_SCALAR), H5Sclose, unwritten);
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return place.handle(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                      H5Sclose, unwritten);
}

// Whole rows of the last axes, up to the size of HDF5's own chunk cache.
std::vector<hsize_t> chunk_shape(const Shape& shape, std::size_t element_size) {
  std::vector<hsize_t> chunk(shape.size(), 1);
  std::size_t room = chunk_bytes / element_size;
  for (std::size_t axis = shape.size(); axis-- > 0 && room > 0;) {
    chunk[axis] = std::min(shape[axis], room);
    room /= chunk[axis];
  }
  return chunk;
}

// What every file, group and dataset is created with: no times, so that equal contents make equal
// files.
Handle creation_list(hid_t list_class, const Place& place) {
  Handle list = place.handle(H5Pcreate(list_class), H5Pclose, unwritten);
  place.check(H5Pset_obj_track_times(list, false), unwritten);
  return list;
}

// Of a file or a group, whose members keep their order.
Handle group_creation_list(hid_t list_class, const Place& place) {
  Handle list = creation_list(list_class, place);
  place.check(H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
              unwritten);
  return list;
}

// @param number_size  in bytes; 0 for texts.
Handle dataset_creation_list(const Shape& shape, std::size_t number_size, const Storage& storage,
                             const Place& place) {
  Handle list = creation_list(H5P_DATASET_CREATE, place);
  place.check(H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
              unwritten);
  // A scalar is stored in the dataset's header, which HDF5 itself checks.
  if (shape.empty()) place.check(H5Pset_layout(list, H5D_COMPACT), unwritten);
  if (shape.empty() || headscope::element_count(shape) == 0 || number_size == 0) return list;
  const std::vector<hsize_t> chunk = chunk_shape(shape, number_size);
  place.check(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()), unwritten);
  if (storage.gzip_level > 0) {
    place.check(H5Pset_shuffle(list), unwritten);
    place.check(H5Pset_deflate(list, static_cast<unsigned>(storage.gzip_level)), unwritten);
  }
  place.check(H5Pset_fletcher32(list), unwritten);
  return list;
}

// Calls `write(type, data)` with values as HDF5 takes them: of texts, pointers.
template <typename Value, typename Write>
void as_stored(std::span<const Value> values, const Place& place, const Write& write) {
  if constexpr (std::is_same_v<Value, std::string>) {
    std::vector<const char*> pointers;
    for (const std::string& text : values) pointers.push_back(text.c_str());
    write(text_type(place), pointers.data());
  } else {
    write(native_type<Value>(), values.data());
  }
}

}  // namespace

struct OutputFile::Data {
  PendingFile pending;
  FileSink sink{pending.descriptor()};
  Handle file;

  explicit Data(const std::string& path) : pending(path) {}

  // The sink hides failed writes from HDF5, so ask it.
  void check_sink() const {
    if (sink.error() != 0) throw cannot_write(pending.path(), std::strerror(sink.error()));
  }

  Place at(const std::string& item) const { return {pending.path(), item}; }
  Handle open_object(const std::string& name) const {
    silence();
    return at(name).handle(H5Oopen(file, object_path(name).c_str(), H5P_DEFAULT), H5Oclose,
                           "no such dataset or group");
  }

  void create_group(const std::string& group) const {
    for (std::size_t slash = 0; slash != std::string::npos;) {
      slash = group.find('/', slash + 1);
      const std::string part = group.substr(0, slash);
      const std::string path = object_path(part);
      if (H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0) continue;
      const Place place = at(part);
      const Handle creation = group_creation_list(H5P_GROUP_CREATE, place);
      place.handle(H5Gcreate2(file, path.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose,
                   unwritten);
    }
  }

  // Creates the dataset and, unless it is empty, writes it.
  void write(const std::string& name, const Shape& shape, std::size_t count, hid_t type,
             const Handle& creation, const void* values) const {
    const Place place = at(name);
    check_count(pending.path() + ":" + name, headscope::element_count(shape), count);
    const Handle space = make_space(shape, place);
    if (const std::size_t slash = name.rfind('/'); slash != std::string::npos && slash > 0) {
      create_group(name.substr(0, slash));
    }
    Handle dataset = place.handle(H5Dcreate2(file, object_path(name).c_str(), type, space,
                                             H5P_DEFAULT, creation, H5P_DEFAULT),
                                  H5Dclose, unwritten);
    if (count == 0) return;
    place.check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), unwritten);
    // Closing writes cached data, so it may fail.
    if (!dataset.close()) throw place.error(unwritten);
    check_sink();
  }

  void write_attribute(const std::string& object, const std::string& name, const Shape& shape,
                       hid_t type, const void* values) const {
    const Handle opened = open_object(object);
    const std::string item = object.empty() ? name : object + "@" + name;
    const Place place = at(item);
    if (H5Aexists(opened, name.c_str()) > 0) {
      place.check(H5Adelete(opened, name.c_str()), unwritten);
    }
    const Handle space = make_space(shape, place);
    const Handle attribute =
        place.handle(H5Acreate2(opened, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                     H5Aclose, unwritten);
    if (headscope::element_count(shape) > 0)
      place.check(H5Awrite(attribute, type, values), unwritten);
  }
};

OutputFile::OutputFile(const std::string& path) : data_(std::make_unique<Data>(path)) {
  silence();
  const Place place = {path, ""};
  const Handle access = place.handle(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, unwritten);
  place.check(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110), unwritten);
  data_->sink.use(access, place);
  const Handle creation = group_creation_list(H5P_FILE_CREATE, place);
  data_->file = place.handle(
      H5Fcreate(data_->pending.temporary_path().c_str(), H5F_ACC_TRUNC, creation, access), H5Fclose,
      unwritten);
}

OutputFile::~OutputFile() = default;

void OutputFile::create_group(const std::string& group) {
  silence();
  data_->create_group(group);
}

void OutputFile::write(const std::string& dataset, const Shape& shape, Values values,
                       const Storage& storage) {
  silence();
  const Place place = data_->at(dataset);
  std::visit(
      [&]<typename Value>(std::span<const Value> held) {
        const std::size_t number_size = std::is_same_v<Value, std::string> ? 0 : sizeof(Value);
        const Handle creation = dataset_creation_list(shape, number_size, storage, place);
        as_stored(held, place, [&](hid_t type, const void* stored) {
          data_->write(dataset, shape, held.size(), type, creation, stored);
        });
      },
      values);
}

void OutputFile::set_attribute(const std::string& object, const std::string& name,
                               const Attribute& value) {
  silence();
  const auto write = [&]<typename Value>(std::span<const Value> values, const Shape& shape) {
    as_stored(values, data_->at(object), [&](hid_t type, const void* stored) {
      data_->write_attribute(object, name, shape, type, stored);
    });
  };
  std::visit(
      [&]<typename Held>(const Held& held) {
        // A list of Held would be an attribute, so this is one value.
        if constexpr (std::is_constructible_v<Attribute, std::vector<Held>>) {
          write(std::span(&held, 1), {});
        } else {
          write(std::span(held), {held.size()});
        }
      },
      value);
}

void OutputFile::set_attribute(const std::string& object, const std::string& name,
                               std::span<const std::uint8_t> values) {
  silence();
  data_->write_attribute(object, name, {values.size()}, H5T_NATIVE_UINT8, values.data());
}

void OutputFile::make_scale(const std::string& dataset) {
  const Handle opened = data_->open_object(dataset);
  const std::string name = dataset.substr(dataset.rfind('/') + 1);
  data_->at(dataset).check(H5DSset_scale(opened, name.c_str()), unwritten);
}

void OutputFile::attach_scale(const std::string& dataset, std::size_t axis,
                              const std::string& scale) {
  const Handle opened = data_->open_object(dataset);
  const Handle opened_scale = data_->open_object(scale);
  data_->at(dataset).check(H5DSattach_scale(opened, opened_scale, static_cast<unsigned>(axis)),
                           unwritten);
}

void OutputFile::publish() {
  silence();
  const Place place = data_->at("");
  place.check(H5Fflush(data_->file, H5F_SCOPE_LOCAL), unwritten);
  if (!data_->file.close()) throw place.error(unwritten);
  data_->check_sink();
  data_->pending.append(digest_line(data_->pending.temporary_path()));
  data_->pending.publish_durably();
}

}  // namespace headscope::hdf5
