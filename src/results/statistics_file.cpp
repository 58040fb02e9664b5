#include "results/statistics_file.hpp"

#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "files/file_version.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "results/file_format.hpp"
#include "results/results_layout.hpp"

namespace headscope {
namespace {

// The format of a statistics file.
const std::string kind = "statistics";
constexpr int format = 3;
const std::string texts_dataset = "texts", parts_group = "parts";
// In the group of a part. The last three hold a group for each name and there a dataset for each
// document, named by its number.
const std::string sum_group = "/sums", row_group = "/rows", document_group = "/documents",
                  record_group = "/records", text_group = "/texts",
                  text_length_group = "/text_lengths";

// Names may hold any characters, but HDF5 gives `/` and `.` a meaning. `%` begins every escape and
// must be the last entry: names are decoded entry by entry.
const std::initializer_list<std::pair<char, std::string_view>> name_escapes{
    {'/', "%2f"}, {'.', "%2e"}, {'%', "%25"}};

std::string stored_name(const std::string& name) {
  return escaped(name, name_escapes);
}

std::string last_name(const std::string& object) {
  return object.substr(object.rfind('/') + 1);
}

// Rejects other spellings, so that no two objects have the same name.
std::string checked_name_of(const hdf5::InputFile& file, const std::string& object) {
  std::string name = last_name(object);
  for (const auto& [c, escape] : name_escapes) replace_all(name, escape, std::string(1, c));
  if (stored_name(name) == last_name(object)) return name;
  throw DataError(file.path(), object, "expected a name as it is stored, got another");
}

void write_texts(const std::map<std::string, std::string>& texts, hdf5::OutputFile& file) {
  const std::string json = json_text(texts);
  const std::vector<std::uint8_t> bytes(json.begin(), json.end());
  file.write(texts_dataset, {bytes.size()}, bytes);
}

std::map<std::string, std::string> read_texts(const hdf5::InputFile& file) {
  check_format(file, kind, format);
  std::string json;
  for (const std::int64_t byte : file.read_integers(texts_dataset)) json += static_cast<char>(byte);
  try {
    return parse_json(json);
  } catch (const nlohmann::json::exception&) {
    throw DataError(file.path(), texts_dataset, "expected texts in JSON, got malformed ones");
  }
}

// Sums hardly compress: most of their bits are fractional digits.
constexpr hdf5::Storage uncompressed{0};

void write_rows(const std::map<std::uint64_t, Array>& rows, const std::string& part,
                const std::string& name, hdf5::OutputFile& file) {
  Shape shape = rows.begin()->second.shape;
  shape.insert(shape.begin(), rows.size());
  std::vector<double> values;
  std::vector<std::int64_t> numbers;
  for (const auto& [document, row] : rows) {
    numbers.push_back(static_cast<std::int64_t>(document));
    values.insert(values.end(), row.values.begin(), row.values.end());
  }
  file.write(part + row_group + "/" + name, shape, values, uncompressed);
  file.write(part + document_group + "/" + name, {numbers.size()}, numbers, uncompressed);
}

std::map<std::uint64_t, Array> read_rows(const hdf5::InputFile& file, const std::string& part,
                                         const std::string& dataset) {
  const std::vector<std::int64_t> numbers =
      file.read_integers(part + document_group + "/" + last_name(dataset));
  const Array all = file.read_reals(dataset);
  if (numbers.empty()) {
    throw DataError(file.path(), dataset, "expected a document for each row, got none");
  }
  if (all.shape.empty() || all.shape[0] != numbers.size()) {
    throw DataError(
        file.path(), dataset,
        "expected " + std::to_string(numbers.size()) + " rows, got shape " + shape_text(all.shape));
  }
  const Shape shape(all.shape.begin() + 1, all.shape.end());
  const std::size_t size = all.size() / numbers.size();
  std::map<std::uint64_t, Array> rows;
  auto from = all.values.begin();
  for (const std::int64_t number : numbers) {
    rows[static_cast<std::uint64_t>(number)] = Array(shape, std::vector<double>(from, from + size));
    from += size;
  }
  if (rows.size() != numbers.size()) {
    throw DataError(file.path(), part + document_group + "/" + last_name(dataset),
                    "expected each document once, got one twice");
  }
  return rows;
}

// Texts may be any bytes, which HDF5's own strings are not.
void write_document_texts(const std::vector<std::string>& texts, const std::string& part,
                          const std::string& name, hdf5::OutputFile& file) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> lengths;
  for (const std::string& text : texts) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    lengths.push_back(static_cast<std::int64_t>(text.size()));
  }
  file.write(part + text_group + name, {bytes.size()}, bytes);
  file.write(part + text_length_group + name, {lengths.size()}, lengths);
}

std::vector<std::string> read_document_texts(const hdf5::InputFile& file, const std::string& part,
                                             const std::string& name) {
  const std::vector<std::int64_t> bytes = file.read_integers(part + text_group + name);
  const std::string lengths = part + text_length_group + name;
  std::vector<std::string> texts;
  auto from = bytes.begin();
  for (const std::int64_t length : file.read_integers(lengths)) {
    if (length < 0 || length > bytes.end() - from) break;
    texts.emplace_back();
    for (const auto end = from + length; from != end; ++from) {
      texts.back() += static_cast<char>(*from);
    }
  }
  if (from == bytes.end()) return texts;
  throw DataError(
      file.path(), lengths,
      "expected lengths that add up to " + std::to_string(bytes.size()) + ", got others");
}

/// A name and a document, as the path of a dataset below its group: `/NAME/NUMBER`.
std::string stored_place(const std::string& name, std::uint64_t document) {
  return "/" + stored_name(name) + "/" + std::to_string(document);
}

/// Calls `read(place, name, document)` for each dataset of a group of records or texts.
template <typename Read>
void read_by_document(const hdf5::InputFile& file, const std::string& group, const Read& read) {
  for (const hdf5::DatasetInfo& info : file.datasets(group)) {
    const std::string place = info.name.substr(group.size());
    const std::string name = checked_name_of(file, info.name.substr(0, info.name.rfind('/')));
    const std::optional<std::uint64_t> document = parse_whole_number(last_name(place));
    if (!document || place != stored_place(name, *document)) {
      throw DataError(file.path(), info.name,
                      "expected the number of a document, got another name");
    }
    read(place, name, *document);
  }
}

}  // namespace

/// Reads and writes the private members of Statistics.
class StatisticsStorage {
 public:
  static void write(const Statistics& statistics, const std::string& part, hdf5::OutputFile& file) {
    for (const std::string& group : {sum_group, row_group, record_group, text_group}) {
      file.create_group(part + group);
    }
    for (const auto& [name, sum] : statistics.sums_) {
      if (statistics.sealed_.contains(name)) continue;
      Shape shape = sum.shape;
      shape.push_back(sum.total.n_word());
      file.write(part + sum_group + "/" + stored_name(name), shape, sum.total.words(),
                 uncompressed);
    }
    for (const auto& [name, rows] : statistics.rows_) {
      if (rows.empty() || statistics.sealed_.contains(name)) continue;
      write_rows(rows, part, stored_name(name), file);
    }
    for (const auto& [name, by_document] : statistics.records_) {
      if (statistics.sealed_.contains(name)) continue;
      for (const auto& [document, record] : by_document) {
        file.write(part + record_group + stored_place(name, document), record.shape, record.values,
                   uncompressed);
      }
    }
    for (const auto& [name, by_document] : statistics.texts_) {
      if (statistics.sealed_.contains(name)) continue;
      for (const auto& [document, texts] : by_document) {
        write_document_texts(texts, part, stored_place(name, document), file);
      }
    }
  }

  static Statistics read(const hdf5::InputFile& file, const std::string& part) {
    Statistics statistics;
    for (const hdf5::DatasetInfo& info : file.datasets(part + sum_group)) {
      Shape shape = info.shape;
      const std::size_t n_word = shape.empty() ? 0 : shape.back();
      if (n_word != ExactSums::fine && n_word != ExactSums::coarse) {
        throw DataError(file.path(), info.name,
                        "expected a last axis of extent 2 or 4, got shape " + shape_text(shape));
      }
      shape.pop_back();
      statistics.sums_[checked_name_of(file, info.name)] = {
          std::move(shape), ExactSums(file.read_integers(info.name), n_word)};
    }
    for (const hdf5::DatasetInfo& info : file.datasets(part + row_group)) {
      statistics.rows_[checked_name_of(file, info.name)] = read_rows(file, part, info.name);
    }
    read_by_document(
        file, part + record_group,
        [&](const std::string& place, const std::string& name, std::uint64_t document) {
          statistics.records_[name][document] = file.read_reals(part + record_group + place);
        });
    read_by_document(
        file, part + text_group,
        [&](const std::string& place, const std::string& name, std::uint64_t document) {
          statistics.texts_[name][document] = read_document_texts(file, part, place);
        });
    return statistics;
  }
};

void save_statistics(const std::map<std::string, std::string>& texts,
                     const std::map<std::string, Statistics>& parts, const std::string& path) {
  hdf5::OutputFile file(path);
  file.set_attribute("", layout::format_attribute, format_name(kind, format));
  write_texts(texts, file);
  file.create_group(parts_group);
  for (const auto& [name, part] : parts) {
    StatisticsStorage::write(part, parts_group + "/" + stored_name(name), file);
  }
  file.publish();
}

StatisticsFile load_statistics(const std::string& path) {
  return FileVersion(path).during([&] {
    const hdf5::InputFile file(path);
    StatisticsFile loaded;
    loaded.texts = read_texts(file);
    for (const std::string& group : file.groups(parts_group)) {
      if (group.find('/', parts_group.size() + 1) != std::string::npos) continue;
      loaded.parts[checked_name_of(file, group)] = StatisticsStorage::read(file, group);
    }
    return loaded;
  });
}

std::map<std::string, std::string> load_statistics_texts(const std::string& path) {
  return read_texts(hdf5::InputFile(path));
}

}  // namespace headscope
