#pragma once

#include <string>
#include <vector>

#include "files/hdf5_call.hpp"
#include "fuzz.hpp"

namespace headscope::fuzz {

/// Names and texts to draw from, so that edits hit what a reader looks for.
struct DraftWords {
  std::vector<std::string> objects;     ///< without a leading slash
  std::vector<std::string> attributes;  ///< of the root and of objects
  std::vector<std::string> texts;
};

/// A valid HDF5 file in memory. The fuzzer's bytes change its objects: names, types, ranks,
/// extents, storage, attributes, links and values.
class Hdf5Draft {
 public:
  /// @param image  the bytes of an HDF5 file.
  Hdf5Draft(const std::string& image, const DraftWords& words);

  /// Makes drawn edits until the bytes run out, at most `most`.
  void edit(Bytes& bytes, std::size_t most = 24);

  /// Closes the file and returns its bytes.
  std::string image();

 private:
  std::string draw_object(Bytes& bytes) const;
  void edit_once(Bytes& bytes);
  void write_dataset(const std::string& name, Bytes& bytes);
  void overwrite(const std::string& name, Bytes& bytes);
  void write_attribute(const std::string& name, Bytes& bytes);
  void link(const std::string& name, Bytes& bytes);

  /// Calls `write(memory type, values)` with drawn values that fit the type.
  template <typename Write>
  void with_values(hid_t type, std::size_t count, Bytes& bytes, Write write);

  const DraftWords& words_;
  hdf5::Handle file_;
};

}  // namespace headscope::fuzz
