#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/results.hpp"
#include "results/file_format.hpp"
#include "results/results_claims.hpp"
#include "results/results_layout.hpp"

namespace headscope {
namespace {

std::vector<std::string> valid(const std::vector<std::string>& texts) {
  std::vector<std::string> clean;
  for (const std::string& text : texts) clean.push_back(valid_utf8(text));
  return clean;
}

std::vector<std::int64_t> as_integers(const std::vector<double>& values) {
  std::vector<std::int64_t> integers;
  for (const double value : values) integers.push_back(static_cast<std::int64_t>(value));
  return integers;
}

bool all_whole(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) {
    return value == std::round(value) && std::abs(value) <= 0x1p53 &&
           !(value == 0 && std::signbit(value));
  });
}

void describe(hdf5::OutputFile& file, const std::string& dataset, const std::string& long_name,
              const std::string& units, const std::string& references) {
  file.set_attribute(dataset, layout::long_name, valid_utf8(long_name));
  file.set_attribute(dataset, layout::units, valid_utf8(units));
  file.set_attribute(dataset, layout::references, valid_utf8(references));
}

void write_dimension(hdf5::OutputFile& file, const std::string& dataset,
                     const Dimension& dimension) {
  const Shape shape{dimension.size()};
  if (!dimension.text.empty()) {
    file.write(dataset, shape, valid(dimension.text));
  } else if (all_whole(dimension.values)) {
    file.write(dataset, shape, as_integers(dimension.values));
  } else {
    file.write(dataset, shape, dimension.values);
  }
  file.make_scale(dataset);
  describe(file, dataset, dimension.name, "1", "");
}

void write_flags(hdf5::OutputFile& file, const std::string& dataset, const Variable& variable) {
  const std::vector<std::uint8_t> flags(variable.values.values.begin(),
                                        variable.values.values.end());
  file.write(dataset, variable.values.shape, flags);
  std::vector<std::uint8_t> values(variable.flag_meanings.size());
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  file.set_attribute(dataset, layout::flag_values, std::span<const std::uint8_t>(values));
  file.set_attribute(dataset, layout::flag_meanings,
                     joined(variable.flag_meanings, " ", valid_utf8));
}

void write_variable(hdf5::OutputFile& file, const ResultsGroup& group, const Variable& variable);

void write_interval(hdf5::OutputFile& file, const ResultsGroup& group, const Variable& variable) {
  const auto write_bound = [&](const char* name, const char* which, const Array& values) {
    const std::string long_name = std::string(which) + " bound of the 95 % interval of " +
                                  variable.name + ", " + variable.resampling;
    write_variable(file, group,
                   Declaration{layout::bound_name(variable.name, name), variable.dimensions,
                               variable.units, long_name, variable.references}
                       .of(values));
  };
  write_bound(layout::low, "lower", variable.interval->low);
  write_bound(layout::high, "upper", variable.interval->high);
  const std::string dataset = group.name + "/" + variable.name;
  std::string ancillary = layout::bound_name(variable.name, layout::low) + " " +
                          layout::bound_name(variable.name, layout::high);
  const auto write_replicates = [&](const char* suffix, const std::string& dimension,
                                    const std::string& about, const Array& values) {
    if (values.size() == 0) return;
    const std::string name = layout::bound_name(variable.name, suffix),
                      kept = group.name + "/" + name;
    const std::vector<float> reals(values.values.begin(), values.values.end());
    file.write(kept, values.shape, reals);
    describe(file, kept, about + "; " + variable.resampling, variable.units, variable.references);
    file.attach_scale(kept, 0, group.name + "/" + dimension);
    for (std::size_t axis = 0; axis < variable.dimensions.size(); ++axis) {
      file.attach_scale(kept, axis + 1, group.name + "/" + variable.dimensions[axis]);
    }
    ancillary += " " + name;
  };
  write_replicates(layout::resamples, "resample", variable.name + " on the first resamples",
                   variable.interval->resamples);
  write_replicates(layout::influences, "part",
                   "Number of parts less 1, times what " + variable.name +
                       " loses without the part; NaN beyond the last part",
                   variable.interval->influences);
  file.set_attribute(dataset, layout::ancillary_variables, ancillary);
  file.set_attribute(dataset, layout::resampling, valid_utf8(variable.resampling));
}

void write_variable(hdf5::OutputFile& file, const ResultsGroup& group, const Variable& variable) {
  const std::string dataset = group.name + "/" + variable.name;
  switch (variable.type) {
    case Variable::Type::real:
      file.write(dataset, variable.values.shape, variable.values.values);
      break;
    case Variable::Type::integer:
      file.write(dataset, variable.values.shape, as_integers(variable.values.values));
      break;
    case Variable::Type::flag:
      write_flags(file, dataset, variable);
      break;
    case Variable::Type::text:
      file.write(dataset, group.shape_of(variable.dimensions), valid(variable.text));
      break;
  }
  describe(file, dataset, variable.long_name, variable.units, variable.references);
  for (std::size_t axis = 0; axis < variable.dimensions.size(); ++axis) {
    file.attach_scale(dataset, axis, group.name + "/" + variable.dimensions[axis]);
  }
  if (variable.interval) write_interval(file, group, variable);
}

void write_group(hdf5::OutputFile& file, const ResultsGroup& group) {
  file.create_group(group.name);
  file.set_attribute(group.name, layout::title, valid_utf8(group.title));
  file.set_attribute(group.name, layout::summary, valid_utf8(group.summary));
  std::vector<std::string> names;
  for (const Variable& variable : group.variables) names.push_back(variable.name);
  file.set_attribute(group.name, layout::variables_attribute, names);
  for (const auto& [name, dimension] : group.dimensions) {
    write_dimension(file, group.name + "/" + name, dimension);
  }
  for (const Variable& variable : group.variables) write_variable(file, group, variable);
}

hdf5::Attribute stored(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return valid_utf8(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  return std::get<double>(value);
}

}  // namespace

void write_results(const Results& results, const std::string& path) {
  if (results.has(layout::claims)) {
    throw Error("results: expected a group not called claims, got one");
  }
  hdf5::OutputFile file(path);
  std::vector<std::string> names;
  for (const ResultsGroup& group : results.groups) {
    write_group(file, group);
    names.push_back(group.name);
  }
  const ResultsGroup claims = claims_group(results.groups);
  if (!claims.variables.empty()) write_group(file, claims);
  for (const auto& [name, value] : results.attributes) {
    file.set_attribute("", name, stored(value));
  }
  file.set_attribute("", layout::format_attribute,
                     format_name(layout::results, layout::results_format));
  file.set_attribute("", layout::groups_attribute, names);
  file.publish();
}

}  // namespace headscope
