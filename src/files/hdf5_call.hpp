#pragma once

// Newer releases provide the functions of 1.10 with this macro.
#define H5_USE_110_API
#include <hdf5.h>
#include <hdf5_hl.h>

#include <string>
#include <string_view>
#include <utility>

#include "headscope/error.hpp"

/// Ownership of HDF5 identifiers, and errors from HDF5's calls; for the hdf5_file sources only.
namespace headscope::hdf5 {

inline constexpr const char* damaged = "cannot be read: the file is damaged or cut short";

/// Stops HDF5 printing its error stack. The setting is per thread, so every entry point calls this.
inline void silence() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

/// Owns an identifier and closes it.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }

  operator hid_t() const { return id_; }
  /// Closes now. @return whether HDF5 reported success
  bool close() { return close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// The file and object of a call, for its error.
struct Place {
  std::string_view file;
  std::string_view item;

  DataError error(std::string_view problem) const { return DataError(file, item, problem); }
  /// Returns the result. @throws DataError if it means failure.
  template <typename Result>
  Result check(Result result, std::string_view problem) const {
    if (result < 0) throw error(problem);
    return result;
  }
  /// Owns the identifier that a call returned. @throws DataError if the call failed.
  Handle handle(hid_t id, Handle::Close closer, std::string_view problem) const {
    return Handle(check(id, problem), closer);
  }
};

/// HDF5's path of an object: "/" for the root group, named by the empty string elsewhere.
inline std::string object_path(const std::string& name) {
  return "/" + name;
}

}  // namespace headscope::hdf5
