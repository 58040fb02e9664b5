#include <algorithm>
#include <array>
#include <map>

#include "base/fields.hpp"
#include "files/file_version.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/results.hpp"
#include "results/file_format.hpp"
#include "results/results_claims.hpp"
#include "results/results_layout.hpp"

namespace headscope {
namespace {

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string kind_text(const hdf5::Attribute& attribute) {
  // In the order of the variant's types.
  constexpr std::array<const char*, std::variant_size_v<hdf5::Attribute>> kinds{
      "text",
      "a whole number",
      "a number",
      "a list of texts",
      "a list of whole numbers",
      "a list of numbers"};
  return kinds.at(attribute.index());
}

// @throws DataError if the attribute is missing or has another type.
std::string text_attribute(const hdf5::InputFile& file, const std::string& object,
                           const char* name) {
  const std::optional<hdf5::Attribute> attribute = file.attribute(object, name);
  if (attribute) {
    if (const auto* text = std::get_if<std::string>(&*attribute)) return *text;
  }
  throw DataError(file.path(), object.empty() ? name : object + "@" + name,
                  attribute ? "expected text, got " + kind_text(*attribute) : "no such attribute");
}

// Read back, a list of one looks like a single value, and an empty list like none.
std::vector<std::string> names_attribute(const hdf5::InputFile& file, const std::string& object,
                                         const char* name) {
  const std::optional<hdf5::Attribute> attribute = file.attribute(object, name);
  if (!attribute) return {};
  if (const auto* one = std::get_if<std::string>(&*attribute)) return {*one};
  if (const auto* all = std::get_if<std::vector<std::string>>(&*attribute)) return *all;
  throw DataError(file.path(), object.empty() ? name : object + "@" + name,
                  "expected a list of names, got " + kind_text(*attribute));
}

Dimension read_dimension(const hdf5::InputFile& file, const std::string& dataset) {
  Dimension dimension;
  dimension.name = last_part(dataset);
  switch (file.info(dataset).kind) {
    case hdf5::Kind::text:
      dimension.text = file.read_strings(dataset);
      break;
    case hdf5::Kind::integer:
      for (const std::int64_t value : file.read_integers(dataset)) {
        dimension.values.push_back(static_cast<double>(value));
      }
      break;
    default:
      dimension.values = file.read_reals(dataset).values;
  }
  return dimension;
}

Array read_whole(const hdf5::InputFile& file, const std::string& dataset, const Shape& shape) {
  const std::vector<std::int64_t> integers = file.read_integers(dataset);
  return Array(shape, std::vector<double>(integers.begin(), integers.end()));
}

// Other programs may write an empty attribute.
std::string description(const hdf5::InputFile& file, const std::string& dataset, const char* name) {
  const std::string text = text_attribute(file, dataset, name);
  return text.empty() ? "not stated" : text;
}

Variable read_variable(const hdf5::InputFile& file, const hdf5::DatasetInfo& info) {
  const std::string& dataset = info.name;
  Variable variable;
  variable.name = last_part(dataset);
  for (const std::string& scale : file.scales(dataset)) {
    variable.dimensions.push_back(last_part(scale));
  }
  variable.long_name = description(file, dataset, layout::long_name);
  variable.units = description(file, dataset, layout::units);
  variable.references = description(file, dataset, layout::references);
  const bool flag = file.attribute(dataset, layout::flag_meanings).has_value();
  switch (info.kind) {
    case hdf5::Kind::text:
      variable.type = Variable::Type::text;
      variable.text = file.read_strings(dataset);
      break;
    case hdf5::Kind::integer:
      variable.type = flag ? Variable::Type::flag : Variable::Type::integer;
      if (flag) {
        variable.flag_meanings =
            fields::split_words(text_attribute(file, dataset, layout::flag_meanings));
      }
      variable.values = read_whole(file, dataset, info.shape);
      break;
    case hdf5::Kind::real:
      variable.values = file.read_reals(dataset);
      break;
    case hdf5::Kind::other:
      throw DataError(file.path(), dataset, "expected numbers or text, got " + info.type);
  }
  return variable;
}

using Datasets = std::map<std::string, const hdf5::DatasetInfo*>;

const hdf5::DatasetInfo& find_dataset(const hdf5::InputFile& file, const Datasets& datasets,
                                      const std::string& name) {
  const auto found = datasets.find(name);
  if (found == datasets.end()) throw DataError(file.path(), name, "no such dataset");
  return *found->second;
}

std::optional<Variable::Interval> read_interval(const hdf5::InputFile& file,
                                                const Datasets& datasets,
                                                const std::string& dataset) {
  if (!file.attribute(dataset, layout::resampling)) return std::nullopt;
  const auto bound = [&](const char* name) {
    return file.read_reals(find_dataset(file, datasets, layout::bound_name(dataset, name)).name);
  };
  const auto replicates = [&](const char* name) {
    return datasets.contains(layout::bound_name(dataset, name)) ? bound(name) : Array();
  };
  return Variable::Interval{bound(layout::low), bound(layout::high), replicates(layout::resamples),
                            replicates(layout::influences)};
}

// The objects in a file, each under one name. Names listed in attributes must be among these, so
// that a small file cannot have one large dataset read many times.
struct Contents {
  std::vector<hdf5::DatasetInfo> datasets;
  std::vector<std::string> groups;
};

ResultsGroup read_group(const hdf5::InputFile& file, const Contents& contents,
                        const std::string& name) {
  if (std::ranges::count(contents.groups, name) == 0) {
    throw DataError(file.path(), name, "no such group");
  }
  ResultsGroup group;
  group.name = name;
  group.title = text_attribute(file, name, layout::title);
  group.summary = text_attribute(file, name, layout::summary);
  Datasets datasets;
  for (const hdf5::DatasetInfo& info : contents.datasets) {
    const bool direct = info.name.size() > name.size() && info.name.starts_with(name) &&
                        info.name.rfind('/') == name.size();
    if (!direct) continue;
    datasets.emplace(info.name, &info);
    if (file.is_scale(info.name)) group.add_dimension(read_dimension(file, info.name));
  }
  for (const std::string& variable : names_attribute(file, name, layout::variables_attribute)) {
    const std::string dataset = name + "/" + variable;
    Variable read = read_variable(file, find_dataset(file, datasets, dataset));
    read.interval = read_interval(file, datasets, dataset);
    if (read.interval) read.resampling = text_attribute(file, dataset, layout::resampling);
    try {
      group.add(std::move(read));
    } catch (const ShapeError& error) {
      throw DataError(file.path(), dataset, error.what());
    }
  }
  return group;
}

AttributeValue single(const hdf5::InputFile& file, const std::string& name) {
  const std::optional<hdf5::Attribute> attribute = file.attribute("", name);
  if (attribute) {
    if (const auto* text = std::get_if<std::string>(&*attribute)) return *text;
    if (const auto* integer = std::get_if<std::int64_t>(&*attribute)) return *integer;
    if (const auto* real = std::get_if<double>(&*attribute)) return *real;
  }
  throw DataError(file.path(), name, "expected one number or text");
}

Results read_opened(const std::string& path) {
  const hdf5::InputFile file(path);
  check_format(file, layout::results, layout::results_format);
  Results results;
  for (const std::string& name : file.attribute_names("")) {
    if (name == layout::format_attribute || name == layout::groups_attribute) continue;
    results.attributes.emplace(name, single(file, name));
  }
  const Contents contents{file.datasets(), file.groups()};
  for (const std::string& name : names_attribute(file, "", layout::groups_attribute)) {
    if (results.has(name)) {
      throw DataError(path, layout::groups_attribute,
                      "expected each group once, got " + name + " twice");
    }
    results.groups.push_back(read_group(file, contents, name));
  }
  if (file.has(layout::claims)) {
    try {
      restore_claims(read_group(file, contents, layout::claims), results);
    } catch (const DataError&) {
      throw;
    } catch (const Error& error) {
      throw DataError(path, layout::claims, error.what());
    }
  }
  return results;
}

}  // namespace

Results read_results(const std::string& path) {
  return FileVersion(path).during([&] { return read_opened(path); });
}

bool is_results_file(const std::string& path) try {
  check_format(hdf5::InputFile(path, hdf5::Digest::ignored), layout::results,
               layout::results_format);
  return true;
} catch (const Error&) {
  return false;
}

}  // namespace headscope
