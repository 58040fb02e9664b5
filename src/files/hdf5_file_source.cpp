#include "files/hdf5_file_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <memory>
#include <new>
#include <string_view>
#include <tuple>

#include "files/hdf5_driver.hpp"

namespace headscope::hdf5 {
namespace {

struct SourceFile : DriverFile {
  int descriptor;
  dev_t device;
  ino_t inode;
  std::size_t length_bytes;  // of a length in the file's structures; 0 where the file is damaged
};

bool read_bytes(int descriptor, char* bytes, std::size_t size, haddr_t begin) {
  return read_at(descriptor, bytes, size, begin) == static_cast<ssize_t>(size);
}

// The superblock gives it after the size of addresses, in versions 0 and 1 at byte 14.
std::size_t length_bytes_of(int descriptor) {
  std::array<char, 16> begin{};
  if (!read_bytes(descriptor, begin.data(), begin.size(), 0)) return 0;
  const auto bytes = static_cast<unsigned char>(begin[8] < 2 ? begin[14] : begin[10]);
  return bytes == 2 || bytes == 4 || bytes == 8 ? bytes : 0;
}

H5FD_t* open_source(const char* name, unsigned, hid_t, haddr_t) {
  const int descriptor = ::open(name, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat status {};
  std::unique_ptr<SourceFile> file(new (std::nothrow) SourceFile{});
  if (!file || ::fstat(descriptor, &status) != 0) {
    ::close(descriptor);
    return nullptr;
  }
  file->descriptor = descriptor;
  file->device = status.st_dev;
  file->inode = status.st_ino;
  file->length_bytes = length_bytes_of(descriptor);
  file->end_of_file = static_cast<haddr_t>(status.st_size);
  return &file.release()->base;
}

herr_t close_source(H5FD_t* file) {
  const std::unique_ptr<SourceFile> opened(&driver_file<SourceFile>(file));
  ::close(opened->descriptor);
  return 0;
}

int compare_sources(const H5FD_t* a, const H5FD_t* b) {
  const auto &x = driver_file<SourceFile>(a), &y = driver_file<SourceFile>(b);
  const auto first = std::tie(x.device, x.inode), second = std::tie(y.device, y.inode);
  return first < second ? -1 : second < first ? 1 : 0;
}

herr_t source_features(const H5FD_t*, unsigned long* flags) {
  // Without HDF5's accumulator every structure is read by itself, from its beginning.
  if (flags != nullptr) *flags = H5FD_FEAT_DATA_SIEVE;
  return 0;
}

/// Whether these are the first bytes of a local heap that is larger than its file.
bool is_too_large_heap(const SourceFile& file, std::string_view bytes) {
  constexpr std::string_view heap_signature = "HEAP";
  constexpr std::size_t size_begin = 8;
  if (!bytes.starts_with(heap_signature) || bytes.size() < size_begin + file.length_bytes)
    return false;
  haddr_t size = 0;
  for (std::size_t i = file.length_bytes; i > 0; --i) {
    size = size << 8 | static_cast<unsigned char>(bytes[size_begin + i - 1]);
  }
  return size > file.end_of_file;
}

herr_t read_source(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t begin, std::size_t size,
                   void* buffer) {
  const auto& opened = driver_file<SourceFile>(file);
  auto* const bytes = static_cast<char*>(buffer);
  if (!read_bytes(opened.descriptor, bytes, size, begin)) return -1;
  return kind == H5FD_MEM_LHEAP && is_too_large_heap(opened, {bytes, size}) ? -1 : 0;
}

// HDF5 registers no driver without it.
herr_t refuse_to_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) {
  return -1;
}

H5FD_class_t source_class() {
  H5FD_class_t driver = driver_class("headscope source", 510);
  driver.open = open_source;
  driver.close = close_source;
  driver.cmp = compare_sources;
  driver.query = source_features;
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

}  // namespace headscope::hdf5
