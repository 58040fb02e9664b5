#include "files/hdf5_file_heap.hpp"

#include <algorithm>

#include "files/hdf5_driver.hpp"

namespace headscope::hdf5 {
namespace {

constexpr const char* tag = "headscope element";

// An element's place becomes opaque bytes as it is.
herr_t keep_place(hid_t from, hid_t to, H5T_cdata_t* data, std::size_t, std::size_t, std::size_t,
                  void*, void*, hid_t) {
  if (data->command != H5T_CONV_INIT) return 0;
  data->need_bkg = H5T_BKG_NO;
  char* const found = H5Tget_tag(to);
  const bool ours = found != nullptr && std::string_view(found) == tag;
  H5free_memory(found);
  const bool variable = H5Tget_class(from) == H5T_VLEN || H5Tis_variable_str(from) > 0;
  return ours && variable ? 0 : -1;
}

// The type of places; HDF5 learns to read them.
Handle place_type(std::size_t size, const Place& place) {
  Handle type = place.handle(H5Tcreate(H5T_OPAQUE, size), H5Tclose, damaged);
  place.check(H5Tset_tag(type, tag), damaged);
  static const herr_t learnt = [&] {
    const Handle list(H5Tvlen_create(H5T_NATIVE_CHAR), H5Tclose);
    return std::min(H5Tregister(H5T_PERS_SOFT, tag, H5T_C_S1, type, keep_place),
                    H5Tregister(H5T_PERS_SOFT, tag, list, type, keep_place));
  }();
  place.check(learnt, damaged);
  return type;
}

constexpr std::size_t aligned(std::size_t size) {
  return (size + 7) / 8 * 8;
}

}  // namespace

const GlobalHeap::Collection& GlobalHeap::collection(const Source& source, std::uint64_t address,
                                                     const Place& place) {
  const auto [found, is_new] = collections_.try_emplace(address);
  Collection& read = found->second;
  if (!is_new) return read;
  std::string header(aligned(8 + source.length_bytes), '\0');
  const auto read_bytes = [&](std::string& bytes) {
    const ssize_t n_read = read_at(source.descriptor, bytes.data(), bytes.size(), address);
    if (n_read != static_cast<ssize_t>(bytes.size())) throw place.error(damaged);
  };
  read_bytes(header);
  const std::uint64_t size = little_endian(std::string_view(header).substr(8, source.length_bytes));
  // Collections do not overlap.
  if (!header.starts_with("GCOL") || size > source.size - n_byte_) throw place.error(damaged);
  n_byte_ += size;
  read.bytes.resize(size);
  read_bytes(read.bytes);
  const std::string_view bytes = read.bytes;
  for (std::size_t at = header.size(); at + header.size() <= bytes.size();) {
    const std::uint64_t number = little_endian(bytes.substr(at, 2));
    const std::uint64_t length = little_endian(bytes.substr(at + 8, source.length_bytes));
    at += header.size();
    // Number 0 is the free space after the last object.
    if (number == 0) break;
    if (length > bytes.size() - at) throw place.error(damaged);
    read.objects[number] = bytes.substr(at, length);
    at += aligned(length);
  }
  return read;
}

std::vector<std::string_view> GlobalHeap::read_elements(
    const Source& source, std::size_t count, std::size_t item_bytes, const Place& place,
    const std::function<herr_t(hid_t, void*)>& read) {
  constexpr std::size_t number_bytes = 4;
  if (source.address_bytes == 0 || source.length_bytes == 0) throw place.error(damaged);
  const std::size_t size = number_bytes + source.address_bytes + number_bytes;
  std::string places(count * size, '\0');
  place.check(read(place_type(size, place), places.data()), damaged);
  std::vector<std::string_view> elements(count);
  std::uint64_t room = source.size;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view at = std::string_view(places).substr(i * size, size);
    const std::uint64_t length = item_bytes * little_endian(at.substr(0, number_bytes));
    const std::uint64_t address = little_endian(at.substr(number_bytes, source.address_bytes));
    if (length == 0 || address == 0) continue;
    const auto& objects = collection(source, address, place).objects;
    const auto object = objects.find(little_endian(at.substr(number_bytes + source.address_bytes)));
    // Undamaged elements share nothing.
    if (object == objects.end() || length > object->second.size() || length > room) {
      throw place.error(damaged);
    }
    elements[i] = object->second.substr(0, length);
    room -= length;
  }
  return elements;
}

}  // namespace headscope::hdf5
