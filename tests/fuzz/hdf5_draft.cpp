#include "hdf5_draft.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace headscope::fuzz {
namespace {

using hdf5::Handle;

constexpr std::size_t most_elements = 4096;
constexpr ssize_t most_bytes = 1 << 22;

constexpr std::array<double, 16> reals{0,
                                       1,
                                       -1,
                                       0.5,
                                       2,
                                       3,
                                       1e-5,
                                       65504,
                                       1e-40,
                                       0x1p53,
                                       1e39,
                                       1e300,
                                       -0.25,
                                       7,
                                       std::numeric_limits<double>::quiet_NaN(),
                                       std::numeric_limits<double>::infinity()};
constexpr std::array<std::int64_t, 14> integers{0,
                                                1,
                                                2,
                                                3,
                                                4,
                                                5,
                                                6,
                                                12,
                                                64,
                                                -1,
                                                std::int64_t{1} << 31,
                                                std::int64_t{1} << 40,
                                                std::numeric_limits<std::int64_t>::max(),
                                                std::numeric_limits<std::int64_t>::min()};
constexpr std::array<hsize_t, 20> extents{1,
                                          2,
                                          3,
                                          4,
                                          5,
                                          6,
                                          8,
                                          9,
                                          12,
                                          16,
                                          24,
                                          0,
                                          2,
                                          4,
                                          12,
                                          1,
                                          hsize_t{1} << 20,
                                          hsize_t{1} << 31,
                                          hsize_t{1} << 40,
                                          hsize_t{1} << 62};

Handle copy_of(hid_t type) {
  return {H5Tcopy(type), H5Tclose};
}

Handle resized(hid_t type, std::size_t size) {
  Handle copy = copy_of(type);
  H5Tset_size(copy, size);
  return copy;
}

Handle half_type() {
  Handle type = copy_of(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

Handle text_type(std::size_t size, H5T_str_t padding) {
  Handle type = resized(H5T_C_S1, size);
  H5Tset_strpad(type, padding);
  return type;
}

Handle compound_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, 16), H5Tclose);
  H5Tinsert(type, "a", 0, H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "b", 8, H5T_NATIVE_INT64);
  return type;
}

Handle enumeration_type() {
  Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
  for (const signed char value : {0, 1}) H5Tenum_insert(type, value ? "TRUE" : "FALSE", &value);
  return type;
}

Handle draw_type(Bytes& bytes) {
  switch (bytes.below(26)) {
    case 0:
    case 1:
      return copy_of(H5T_IEEE_F32LE);
    case 2:
      return copy_of(H5T_IEEE_F32BE);
    case 3:
      return copy_of(H5T_IEEE_F64LE);
    case 4:
      return half_type();
    case 5:
      return copy_of(H5T_STD_U8LE);
    case 6:
    case 7:
      return copy_of(H5T_STD_I64LE);
    case 8:
      return copy_of(H5T_STD_U64BE);
    case 9:
      return copy_of(H5T_STD_I32BE);
    case 10:
    case 11:
      return text_type(H5T_VARIABLE, H5T_STR_NULLTERM);
    case 12:
      return text_type(1 + bytes.below(40), H5T_STR_NULLTERM);
    case 13:
      return text_type(1 + bytes.below(40), H5T_STR_SPACEPAD);
    case 14:
      return text_type(1 + bytes.below(40), H5T_STR_NULLPAD);
    case 15:
      return compound_type();
    case 16:
      return copy_of(H5T_STD_REF_OBJ);
    case 17:
      return {H5Tvlen_create(H5T_NATIVE_INT32), H5Tclose};
    case 18:
    case 19:
      return {H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose};
    case 20:
      return enumeration_type();
    case 21:
      return {H5Tcreate(H5T_OPAQUE, 1 + bytes.below(100)), H5Tclose};
    case 22: {
      const hsize_t three = 3;
      return {H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three), H5Tclose};
    }
    case 23:
      return copy_of(H5T_STD_B16LE);
    case 24:
      return resized(H5T_STD_I64LE, 1 + bytes.below(16));
    default:
      return copy_of(H5T_STD_REF_DSETREG);
  }
}

std::vector<hsize_t> draw_extents(Bytes& bytes) {
  static constexpr std::array<std::size_t, 8> ranks{0, 1, 1, 2, 2, 2, 3, 32};
  std::vector<hsize_t> shape(bytes.pick(ranks));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] = axis < 4 ? bytes.pick(extents) : 1;
  }
  return shape;
}

Handle make_space(const std::vector<hsize_t>& shape, bool unlimited) {
  if (shape.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  const std::vector<hsize_t> most(shape.size(), H5S_UNLIMITED);
  return {H5Screate_simple(static_cast<int>(shape.size()), shape.data(),
                           unlimited ? most.data() : nullptr),
          H5Sclose};
}

// Number of elements; most_elements + 1 if the draft cannot write as many, or the number overflows.
std::size_t count_of(const std::vector<hsize_t>& shape) {
  std::size_t count = 1;
  for (const hsize_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count) || count > most_elements) {
      return std::find(shape.begin(), shape.end(), 0U) == shape.end() ? most_elements + 1 : 0;
    }
  }
  return count;
}

Handle draw_storage(const std::vector<hsize_t>& shape, bool chunked, Bytes& bytes) {
  Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_alloc_time(list, H5D_ALLOC_TIME_LATE);
  if (shape.empty()) return list;
  if (!chunked) {
    if (bytes.below(8) == 0) H5Pset_layout(list, H5D_COMPACT);
    return list;
  }
  std::vector<hsize_t> chunk;
  for (const hsize_t extent : shape) {
    chunk.push_back(std::clamp<hsize_t>(extent, 1, 1 + bytes.below(8)));
  }
  H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data());
  const std::uint8_t filters = bytes.next();
  if (filters & 1) H5Pset_shuffle(list);
  if (filters & 2) H5Pset_deflate(list, 1);
  if (filters & 4) H5Pset_fletcher32(list);
  return list;
}

}  // namespace

Hdf5Draft::Hdf5Draft(const std::string& image, const DraftWords& words) : words_(words) {
  hdf5::silence();
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, 65536, false);
  std::string copy = image;
  H5Pset_file_image(access, copy.data(), copy.size());
  file_ = Handle(H5Fopen("draft", H5F_ACC_RDWR, access), H5Fclose);
  require(file_ >= 0, "the unchanged file can be opened");
}

void Hdf5Draft::edit(Bytes& bytes, std::size_t most) {
  for (std::size_t i = 0; i < most && !bytes.empty(); ++i) edit_once(bytes);
}

std::string Hdf5Draft::image() {
  H5Fflush(file_, H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(file_, nullptr, 0);
  require(size > 0, "a draft can be read back");
  if (size > most_bytes) return "";
  std::string bytes(static_cast<std::size_t>(size), '\0');
  H5Fget_file_image(file_, bytes.data(), bytes.size());
  file_.close();
  return bytes;
}

std::string Hdf5Draft::draw_object(Bytes& bytes) const {
  std::string name = bytes.pick(words_.objects);
  const std::size_t change = bytes.below(16);
  if (change == 0) name += bytes.text(6);
  if (change == 1) name = name.substr(0, name.rfind('/'));
  if (change == 2) name += "/" + bytes.pick(words_.objects);
  if (change == 3) {
    for (char& c : name) {
      if (c == '0') c = static_cast<char>('0' + bytes.below(10));
    }
  }
  return name;
}

void Hdf5Draft::edit_once(Bytes& bytes) {
  const std::size_t kind = bytes.below(16);
  const std::string name = "/" + draw_object(bytes);
  const char* const path = name.c_str();
  switch (kind) {
    case 0:
      H5Ldelete(file_, path, H5P_DEFAULT);
      return;
    case 1:
    case 2:
    case 3:
    case 4:
      return write_dataset(name, bytes);
    case 5:
    case 6:
      return overwrite(name, bytes);
    case 7:
    case 8:
      return write_attribute("/", bytes);
    case 9:
    case 10:
      return write_attribute(name, bytes);
    case 11:
      H5Adelete_by_name(file_, path, bytes.pick(words_.attributes).c_str(), H5P_DEFAULT);
      return;
    case 12:
    case 13:
    case 14:
      return link(name, bytes);
    default: {
      const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
      H5Pset_create_intermediate_group(links, 1);
      Handle(H5Gcreate2(file_, path, links, H5P_DEFAULT, H5P_DEFAULT), H5Gclose).close();
    }
  }
}

template <typename Write>
void Hdf5Draft::with_values(hid_t type, std::size_t count, Bytes& bytes, Write write) {
  const auto cycle = [&](const auto& choices) {
    using Value = std::decay_t<decltype(choices[0])>;
    std::vector<Value> drawn(1 + bytes.below(4));
    for (Value& value : drawn) value = choices[bytes.below(choices.size())];
    std::vector<Value> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = drawn[i % drawn.size()];
    return values;
  };
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return write(H5T_NATIVE_DOUBLE, cycle(reals).data());
    case H5T_INTEGER: {
      std::vector<std::int64_t> values = cycle(integers);
      if (bytes.below(2) == 1) {
        for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(i);
      }
      return write(H5T_NATIVE_INT64, values.data());
    }
    case H5T_STRING:
      if (H5Tis_variable_str(type) > 0) {
        std::vector<const char*> pointers;
        for (std::size_t i = 0; i < count; ++i) {
          pointers.push_back(words_.texts[(bytes.next() + i) % words_.texts.size()].c_str());
        }
        return write(type, pointers.data());
      }
      break;
    case H5T_VLEN:
    case H5T_REFERENCE: {
      hobj_ref_t reference = 0;
      H5Rcreate(&reference, file_, ("/" + draw_object(bytes)).c_str(), H5R_OBJECT, -1);
      if (bytes.below(4) == 0) reference = bytes.next_pair();
      if (H5Tget_class(type) == H5T_REFERENCE) {
        if (H5Tequal(type, H5T_STD_REF_OBJ) <= 0) return;
        return write(type, std::vector<hobj_ref_t>(count, reference).data());
      }
      const std::vector<hobj_ref_t> references(3, reference);
      const hvl_t list{bytes.below(3), const_cast<hobj_ref_t*>(references.data())};
      return write(type, std::vector<hvl_t>(count, list).data());
    }
    default:
      break;
  }
  const std::string drawn = bytes.text(64) + "\1";
  std::string raw(count * H5Tget_size(type), '\0');
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = drawn[i % drawn.size()];
  write(type, raw.data());
}

void Hdf5Draft::write_dataset(const std::string& name, Bytes& bytes) {
  H5Ldelete(file_, name.c_str(), H5P_DEFAULT);
  const Handle type = draw_type(bytes);
  const std::vector<hsize_t> shape = draw_extents(bytes);
  const std::uint8_t traits = bytes.next();
  const std::size_t count = count_of(shape);
  const bool chunked = !shape.empty() && ((traits & 1) || count > most_elements);
  const Handle space = (traits & 14) == 14 ? Handle(H5Screate(H5S_NULL), H5Sclose)
                                           : make_space(shape, chunked && (traits & 16));
  const Handle storage = draw_storage(shape, chunked, bytes);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const Handle dataset(H5Dcreate2(file_, name.c_str(), type, space, links, storage, H5P_DEFAULT),
                       H5Dclose);
  if (dataset < 0 || count == 0 || count > most_elements || (traits & 96) == 96) return;
  with_values(type, count, bytes, [&](hid_t memory_type, const void* values) {
    H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  });
}

void Hdf5Draft::overwrite(const std::string& name, Bytes& bytes) {
  const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (dataset < 0) return;
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  if (count < 1 || count > static_cast<hssize_t>(most_elements)) return;
  with_values(type, static_cast<std::size_t>(count), bytes,
              [&](hid_t memory_type, const void* values) {
                H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
              });
}

void Hdf5Draft::write_attribute(const std::string& name, Bytes& bytes) {
  const Handle object(H5Oopen(file_, name.c_str(), H5P_DEFAULT), H5Oclose);
  if (object < 0) return;
  std::string attribute = bytes.pick(words_.attributes);
  if (bytes.below(16) == 0) attribute += bytes.text(4);
  H5Adelete(object, attribute.c_str());
  const Handle type = draw_type(bytes);
  std::vector<hsize_t> shape = draw_extents(bytes);
  if (count_of(shape) > 256 || bytes.below(2) == 0) shape.clear();
  const Handle space =
      bytes.below(16) == 15 ? Handle(H5Screate(H5S_NULL), H5Sclose) : make_space(shape, false);
  const Handle made(H5Acreate2(object, attribute.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                    H5Aclose);
  if (made < 0) return;
  with_values(type, count_of(shape), bytes,
              [&](hid_t memory_type, const void* values) { H5Awrite(made, memory_type, values); });
}

void Hdf5Draft::link(const std::string& name, Bytes& bytes) {
  const std::string other = "/" + draw_object(bytes);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const char* const from = name.c_str();
  const char* const to = other.c_str();
  // Avoids H5Lmove, H5Ocopy and intermediate groups of hard links: some releases of HDF5 crash
  // there.
  switch (bytes.below(5)) {
    case 0:
      H5Lcreate_hard(file_, from, file_, to, H5P_DEFAULT, H5P_DEFAULT);
      return;
    case 1:
      H5Lcreate_soft(from, file_, to, links, H5P_DEFAULT);
      return;
    case 2:
      H5Lcreate_external("/dev/null", from, file_, to, links, H5P_DEFAULT);
      return;
    default:
      H5Ldelete(file_, to, H5P_DEFAULT);
      if (H5Lcreate_hard(file_, from, file_, to, H5P_DEFAULT, H5P_DEFAULT) >= 0) {
        H5Ldelete(file_, from, H5P_DEFAULT);
      }
  }
}

}  // namespace headscope::fuzz
