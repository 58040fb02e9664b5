#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "headscope/array.hpp"

/// Reading and writing HDF5. No other part of the library calls HDF5; HDF5 itself never prints.
///
/// Objects are named by their path without a leading slash, `pruning/loss_increase`; the root group
/// is the empty string. Every function throws DataError with file and object on failure.
namespace headscope::hdf5 {

enum class Kind { real, integer, text, other };

struct DatasetInfo {
  std::string name;  ///< path inside the file
  Shape shape;       ///< empty for a scalar
  Kind kind = Kind::other;
  std::string type;  ///< in readable form: `float32`, `big-endian float64`, `int64`, `text`
};

using Attribute = std::variant<std::string, std::int64_t, double, std::vector<std::string>,
                               std::vector<std::int64_t>, std::vector<double>>;

/// Whether opening a file reads all of it to check its digest, if it has one. HDF5's checksums
/// alone show damage of numbers and structures, but not of text.
enum class Digest { checked, ignored };

/// An HDF5 file open for reading.
class InputFile {
 public:
  /// @throws DataError if the file is missing, empty, not HDF5, cut short, or unlike its digest.
  explicit InputFile(const std::string& path, Digest digest = Digest::checked);
  ~InputFile();

  /// Whether the file begins with HDF5's signature; false if it cannot be read.
  static bool recognises(const std::string& path);

  const std::string& path() const;

  /// All datasets and all groups below `group`, recursively; names are full paths.
  std::vector<DatasetInfo> datasets(const std::string& group = "") const;
  std::vector<std::string> groups(const std::string& group = "") const;
  /// Whether a dataset or group of that name exists.
  bool has(const std::string& name) const;
  DatasetInfo info(const std::string& dataset) const;
  /// Call it before allocating memory for a dataset of an untrusted file.
  /// @throws DataError if the file stores too little for the shape it declares.
  void check_size(const std::string& dataset) const;

  /// Reads float16, float32 or float64 of either byte order and any layout. Before allocating,
  /// checks the size against what the file can hold.
  ///
  /// @throws DataError on another type, and on unwritten or damaged data.
  Array read_reals(const std::string& dataset) const;
  /// The same in float32.
  /// @param out  as many elements as the dataset has.
  /// @throws DataError also on another element count, NaN, infinity, or a value beyond the range.
  void read(const std::string& dataset, std::span<float> out) const;

  /// Reads any integer type; the shape is in `info`.
  /// @throws DataError on another type, and on unsigned values above INT64_MAX.
  std::vector<std::int64_t> read_integers(const std::string& dataset) const;
  /// Reads strings of variable or fixed length.
  std::vector<std::string> read_strings(const std::string& dataset) const;

  /// Attributes that are numbers or text, of a dataset or group; others (references) are not
  /// listed.
  std::vector<std::string> attribute_names(const std::string& object) const;
  /// Nothing if there is none of that name, or it is neither numbers nor text.
  std::optional<Attribute> attribute(const std::string& object, const std::string& name) const;

  /// Whether the dataset is a dimension scale.
  bool is_scale(const std::string& dataset) const;
  /// The name of the dimension scale on each axis; empty where an axis has none.
  std::vector<std::string> scales(const std::string& dataset) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

using Values =
    std::variant<std::span<const float>, std::span<const double>, std::span<const std::int64_t>,
                 std::span<const std::uint8_t>, std::span<const std::string>>;

/// How numbers are stored. Data of one element or more are chunked and carry a Fletcher32
/// checksum.
struct Storage {
  int gzip_level = 4;  ///< 0 to 9; 0 leaves them uncompressed
};

/// A new HDF5 file that appears under its name only when `publish` is called.
class OutputFile {
 public:
  /// @throws DataError if the file cannot be created.
  explicit OutputFile(const std::string& path);
  ~OutputFile();

  /// Creates the group and its parents; an existing group is left unchanged.
  void create_group(const std::string& group);

  /// Writes a dataset, row-major, making the groups above it. An empty shape is a scalar. Text is
  /// variable-length UTF-8.
  /// @throws DataError if the name is taken; ShapeError if the count does not fit the shape.
  void write(const std::string& dataset, const Shape& shape, Values values,
             const Storage& storage = {});

  /// Sets an attribute of a dataset or group. Text is variable-length UTF-8.
  void set_attribute(const std::string& object, const std::string& name, const Attribute& value);
  /// Bytes, as `flag_values` of a uint8 dataset needs them.
  void set_attribute(const std::string& object, const std::string& name,
                     std::span<const std::uint8_t> values);

  /// Makes a written 1-D dataset the scale of the dimension of its own name.
  void make_scale(const std::string& dataset);
  /// Attaches a dimension scale to an axis of a dataset.
  void attach_scale(const std::string& dataset, std::size_t axis, const std::string& scale);

  /// Closes the file, appends its digest (file_digest.hpp) and gives it its name. Nothing can be
  /// written afterwards.
  void publish();

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace headscope::hdf5
