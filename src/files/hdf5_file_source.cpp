#include "files/hdf5_file_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/hdf5_driver.hpp"

namespace headscope::hdf5 {
namespace {

struct SourceFile : DriverFile {
  Source source;
  // Where object headers read so far continue.
  std::set<haddr_t> continuations;
  // Where the rest of an object header begins whose first bytes were read last; 0: nowhere.
  haddr_t rest_begin = 0;
};

bool read_bytes(int descriptor, char* bytes, std::size_t size, haddr_t begin) {
  return read_at(descriptor, bytes, size, begin) == static_cast<ssize_t>(size);
}

// The superblock has the sizes of addresses and lengths at byte 13 in versions 0 and 1, else at 9.
void read_number_sizes(Source& source) {
  std::array<char, 16> begin{};
  if (!read_bytes(source.descriptor, begin.data(), begin.size(), 0)) return;
  const std::size_t at = begin[8] < 2 ? 13 : 9;
  const auto size = [&](std::size_t i) {
    const auto bytes = static_cast<unsigned char>(begin[i]);
    return bytes == 2 || bytes == 4 || bytes == 8 ? bytes : std::size_t{0};
  };
  source.address_bytes = size(at);
  source.length_bytes = size(at + 1);
}

H5FD_t* open_source(const char* name, unsigned, hid_t, haddr_t) {
  Descriptor descriptor(::open(name, O_RDONLY | O_CLOEXEC));
  if (descriptor < 0) return nullptr;
  struct stat status {};
  std::unique_ptr<SourceFile> file(new (std::nothrow) SourceFile{});
  if (!file || ::fstat(descriptor, &status) != 0) return nullptr;
  file->end_of_file = static_cast<haddr_t>(status.st_size);
  file->source.descriptor = std::move(descriptor);
  file->source.size = file->end_of_file;
  read_number_sizes(file->source);
  return &file.release()->base;
}

herr_t close_source(H5FD_t* file) {
  delete &driver_file<SourceFile>(file);
  return 0;
}

herr_t source_features(const H5FD_t*, unsigned long* flags) {
  // Without HDF5's accumulator every structure is read by itself, from its beginning.
  if (flags != nullptr) *flags = H5FD_FEAT_DATA_SIEVE;
  return 0;
}

herr_t give_source(H5FD_t* file, hid_t, void** handle) {
  *handle = &driver_file<SourceFile>(file).source;
  return 0;
}

/// Whether these are the first bytes of a local heap that is larger than its file.
bool is_too_large_heap(const Source& source, std::string_view bytes) {
  constexpr std::string_view heap_signature = "HEAP";
  constexpr std::size_t size_begin = 8;
  return bytes.starts_with(heap_signature) && bytes.size() >= size_begin + source.length_bytes &&
         little_endian(bytes.substr(size_begin, source.length_bytes)) > source.size;
}

constexpr std::size_t header_prefix = 16;  // of version 1

/// Bytes of an object header without its continuations; 0 if these are not its first bytes.
/// Source: HDF5 File Format Specification, IV.A.1.
std::uint64_t header_size(std::string_view bytes) {
  if (bytes.size() < header_prefix) return 0;
  if (bytes[0] == 1) return header_prefix + little_endian(bytes.substr(8, 4));
  constexpr std::string_view header_signature = "OHDR";
  if (!bytes.starts_with(header_signature)) return 0;
  const auto flags = static_cast<unsigned char>(bytes[5]);
  const std::size_t size_bytes = std::size_t{1} << (flags & 3),
                    size_begin = 6 + ((flags & 16) != 0 ? 4 : 0) + ((flags & 32) != 0 ? 16 : 0);
  if (bytes.size() < size_begin + size_bytes) return 0;
  constexpr std::size_t checksum_bytes = 4;
  return size_begin + size_bytes + little_endian(bytes.substr(size_begin, size_bytes)) +
         checksum_bytes;
}

/// Whether these are the first bytes of an object header of version 1 that continues outside its
/// file. Later versions have checksums. HDF5 reads a long header in two steps.
bool continues_outside(SourceFile& file, std::string_view bytes, haddr_t begin) {
  constexpr std::size_t message_prefix = 8;
  constexpr std::uint64_t continuation = 0x10;
  const bool is_rest = std::exchange(file.rest_begin, 0) == begin;
  if (is_rest || file.continuations.contains(begin)) return false;
  const std::uint64_t first_size = header_size(bytes);
  // A fractal heap's header is read as an object's, and may be as long.
  if (first_size > bytes.size() || bytes.starts_with("FRHP")) {
    file.rest_begin = begin + bytes.size();
  }
  if (first_size == 0 || bytes[0] != 1) return false;
  const auto& [descriptor, size, address_bytes, length_bytes] = file.source;
  std::vector<std::pair<haddr_t, haddr_t>> parts{
      {begin + header_prefix, first_size - header_prefix}};
  std::uint64_t room = size;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [part_begin, part_size] = parts[i];
    if (part_begin > size || part_size > std::min(room, size - part_begin)) return true;
    room -= part_size;
    std::string part(part_size, '\0');
    if (!read_bytes(descriptor, part.data(), part.size(), part_begin)) return true;
    const std::string_view messages = part;
    for (std::size_t at = 0; at + message_prefix <= messages.size();) {
      const std::uint64_t type = little_endian(messages.substr(at, 2));
      const std::uint64_t length = little_endian(messages.substr(at + 2, 2));
      at += message_prefix;
      if (type == continuation && at + address_bytes + length_bytes <= messages.size()) {
        const haddr_t next = little_endian(messages.substr(at, address_bytes));
        file.continuations.insert(next);
        parts.emplace_back(next, little_endian(messages.substr(at + address_bytes, length_bytes)));
      }
      at += length;
    }
  }
  return false;
}

herr_t read_source(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t begin, std::size_t size,
                   void* buffer) {
  auto& opened = driver_file<SourceFile>(file);
  auto* const bytes = static_cast<char*>(buffer);
  if (!read_bytes(opened.source.descriptor, bytes, size, begin)) return -1;
  try {
    const bool refused =
        (kind == H5FD_MEM_LHEAP && is_too_large_heap(opened.source, {bytes, size})) ||
        (kind == H5FD_MEM_OHDR && continues_outside(opened, {bytes, size}, begin));
    return refused ? -1 : 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

// HDF5 registers no driver without it.
herr_t refuse_to_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) {
  return -1;
}

H5FD_class_t source_class() {
  H5FD_class_t driver = driver_class("headscope source", 510);
  driver.open = open_source;
  driver.close = close_source;
  driver.query = source_features;
  driver.get_handle = give_source;
  driver.read = read_source;
  driver.write = refuse_to_write;
  return driver;
}

}  // namespace

void use_checked_source(const Handle& access, const Place& place) {
  static const H5FD_class_t driver = source_class();
  static const hid_t id = H5FDregister(&driver);
  place.check(id, "cannot be read: HDF5 refused");
  place.check(H5Pset_driver(access, id, nullptr), "cannot be read: HDF5 refused");
}

const Source& source_of(hid_t file, const Place& place) {
  void* source = nullptr;
  place.check(H5Fget_vfd_handle(file, H5P_DEFAULT, &source), "cannot be read: HDF5 refused");
  return *static_cast<const Source*>(source);
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

}  // namespace headscope::hdf5
