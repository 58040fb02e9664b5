#pragma once

#include "files/hdf5_call.hpp"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <iterator>
#include <limits>

namespace headscope::hdf5 {

/// An open file as HDF5 sees it. A driver's own file type derives from it. HDF5 fills in its own
/// part, which comes first and must start as zeros.
struct DriverFile {
  H5FD_t base;
  haddr_t end_of_addresses, end_of_file;
};

/// The driver's own file behind HDF5's pointer.
template <typename File>
File& driver_file(H5FD_t* file) {
  return static_cast<File&>(*reinterpret_cast<DriverFile*>(file));
}
template <typename File>
const File& driver_file(const H5FD_t* file) {
  return static_cast<const File&>(*reinterpret_cast<const DriverFile*>(file));
}

/// What the drivers share.
/// @param value  from the range for applications, 256 to 511.
inline H5FD_class_t driver_class(const char* name, [[maybe_unused]] int value) {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = value;
#endif
  driver.name = name;
  driver.maxaddr = std::numeric_limits<off_t>::max();
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.get_eoa = [](const H5FD_t* file, H5FD_mem_t) {
    return driver_file<DriverFile>(file).end_of_addresses;
  };
  driver.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t end) -> herr_t {
    driver_file<DriverFile>(file).end_of_addresses = end;
    return 0;
  };
  driver.get_eof = [](const H5FD_t* file, H5FD_mem_t) {
    return driver_file<DriverFile>(file).end_of_file;
  };
  const H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kinds), std::end(kinds), driver.fl_map);
  return driver;
}

}  // namespace headscope::hdf5
