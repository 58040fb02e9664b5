#include "hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/statistics.hpp"

namespace headscope {
namespace {

const std::string format = "headscope statistics 1";
const std::string sum_group = "sums", row_group = "rows", document_group = "documents";

// A name may hold any characters; HDF5's separator and the current group would split it.
std::string stored_name(const std::string& name) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string stored;
  for (const char c : name) {
    if (c == '/' || c == '%' || c == '.') {
      stored += {'%', digits[static_cast<unsigned char>(c) >> 4], digits[c & 15]};
    } else {
      stored += c;
    }
  }
  return stored;
}

void write_array(hdf5::OutputFile& file, const std::string& dataset, const std::string& name,
                 const Shape& shape, const std::vector<double>& values) {
  file.write(dataset, shape, std::span<const double>(values));
  file.set_attribute(dataset, "name", name);
}

std::string name_of(const hdf5::InputFile& file, const std::string& dataset) {
  const std::optional<hdf5::Attribute> name = file.attribute(dataset, "name");
  if (!name || !std::holds_alternative<std::string>(*name)) {
    throw DataError(file.path(), dataset, "no such attribute: name");
  }
  return std::get<std::string>(*name);
}

}  // namespace

void Statistics::save(const std::string& path) const {
  hdf5::OutputFile file(path);
  file.set_attribute("", "format", format);
  file.create_group(sum_group);
  file.create_group(row_group);
  for (const auto& [name, array] : sums_) {
    write_array(file, sum_group + "/" + stored_name(name), name, array.shape, array.values);
  }
  for (const auto& [name, of_document] : rows_) {
    if (of_document.empty()) continue;
    const std::string dataset = row_group + "/" + stored_name(name);
    Shape shape = of_document.begin()->second.shape;
    shape.insert(shape.begin(), of_document.size());
    std::vector<double> values;
    std::vector<std::int64_t> numbers;
    for (const auto& [document, row] : of_document) {
      numbers.push_back(static_cast<std::int64_t>(document));
      values.insert(values.end(), row.values.begin(), row.values.end());
    }
    write_array(file, dataset, name, shape, values);
    file.write(document_group + "/" + stored_name(name), {numbers.size()},
               std::span<const std::int64_t>(numbers));
  }
  file.publish();
}

Statistics Statistics::load(const std::string& path) {
  const hdf5::InputFile file(path);
  if (file.attribute("", "format") != hdf5::Attribute(format)) {
    throw DataError(
        path, "",
        "expected a statistics file (format \"" + format + "\"), found another HDF5 file");
  }
  Statistics statistics;
  for (const hdf5::DatasetInfo& info : file.datasets(sum_group)) {
    statistics.sums_[name_of(file, info.name)] = file.read_reals(info.name);
  }
  for (const hdf5::DatasetInfo& info : file.datasets(row_group)) {
    const std::string index = document_group + info.name.substr(row_group.size());
    const std::vector<std::int64_t> numbers = file.read_integers(index);
    const Array all = file.read_reals(info.name);
    if (all.shape.empty() || all.shape[0] != numbers.size()) {
      throw DataError(path, info.name,
                      "expected " + std::to_string(numbers.size()) + " rows, got shape " +
                          shape_text(all.shape));
    }
    const Shape shape(all.shape.begin() + 1, all.shape.end());
    const std::size_t size = numbers.empty() ? 0 : all.size() / numbers.size();
    auto from = all.values.begin();
    auto& of_document = statistics.rows_[name_of(file, info.name)];
    for (const std::int64_t number : numbers) {
      const auto to = from + static_cast<std::ptrdiff_t>(size);
      of_document[static_cast<std::uint64_t>(number)] = Array(shape, std::vector<double>(from, to));
      from = to;
    }
  }
  return statistics;
}

}  // namespace headscope
