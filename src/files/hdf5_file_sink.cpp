#include "files/hdf5_file_sink.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "files/descriptor.hpp"
#include "files/hdf5_driver.hpp"

namespace headscope::hdf5 {
namespace {

struct SinkFile : DriverFile {
  FileSink* sink;
};

H5FD_t* open_sink(const char*, unsigned flags, hid_t access, haddr_t) {
  FileSink* const sink = *static_cast<FileSink* const*>(H5Pget_driver_info(access));
  if ((flags & H5F_ACC_TRUNC) != 0) sink->resize(0);
  struct stat status {};
  if (::fstat(sink->descriptor(), &status) != 0) return nullptr;
  auto* const file = new (std::nothrow) SinkFile{};
  if (file == nullptr) return nullptr;
  file->sink = sink;
  file->end_of_file = static_cast<haddr_t>(status.st_size);
  return &file->base;
}

herr_t close_sink(H5FD_t* file) {
  delete &driver_file<SinkFile>(file);
  return 0;
}

herr_t features(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
  }
  return 0;
}

herr_t read_sink(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t begin, std::size_t size, void* bytes) {
  return driver_file<SinkFile>(file).sink->read(static_cast<char*>(bytes), size, begin) ? 0 : -1;
}

herr_t write_sink(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t begin, std::size_t size,
                  const void* bytes) {
  auto& opened = driver_file<SinkFile>(file);
  opened.sink->write(static_cast<const char*>(bytes), size, begin);
  opened.end_of_file = std::max<haddr_t>(opened.end_of_file, begin + size);
  return 0;
}

herr_t truncate_sink(H5FD_t* file, hid_t, hbool_t) {
  auto& opened = driver_file<SinkFile>(file);
  if (opened.end_of_file == opened.end_of_addresses) return 0;
  opened.sink->resize(opened.end_of_addresses);
  opened.end_of_file = opened.end_of_addresses;
  return 0;
}

H5FD_class_t sink_class() {
  H5FD_class_t driver = driver_class("headscope", 511);
  driver.fapl_size = sizeof(void*);
  driver.open = open_sink;
  driver.close = close_sink;
  driver.query = features;
  driver.read = read_sink;
  driver.write = write_sink;
  driver.truncate = truncate_sink;
  return driver;
}

}  // namespace

void FileSink::use(const Handle& access, const Place& place) {
  static const H5FD_class_t driver = sink_class();
  static const hid_t id = H5FDregister(&driver);
  const FileSink* const self = this;
  place.check(id, "cannot be written: HDF5 refused");
  place.check(H5Pset_driver(access, id, &self), "cannot be written: HDF5 refused");
}

void FileSink::write(const char* bytes, std::size_t size, std::uint64_t begin) {
  if (error_ == 0 && !write_at(descriptor_, {bytes, size}, begin)) error_ = errno;
}

bool FileSink::read(char* bytes, std::size_t size, std::uint64_t begin) const {
  const ssize_t count = read_at(descriptor_, bytes, size, begin);
  if (count < 0) return false;
  std::memset(bytes + count, 0, size - static_cast<std::size_t>(count));
  return true;
}

void FileSink::resize(std::uint64_t size) {
  if (error_ == 0 && ::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) error_ = errno;
}

}  // namespace headscope::hdf5
