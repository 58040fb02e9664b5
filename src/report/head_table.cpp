#include "report/head_table.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "files/pending_file.hpp"
#include "report/head_variables.hpp"
#include "results/long_table.hpp"
#include "results/results_layout.hpp"

namespace headscope {
namespace {

struct HeadColumn {
  std::string name;
  std::vector<std::string> cells;  // by head
};

std::string cell_text(const Variable& variable, double value) {
  if (variable.type == Variable::Type::flag) {
    return variable.flag_meanings[static_cast<std::size_t>(value)];
  }
  return std::isnan(value) ? "NaN" : number_text(value, 0);
}

void add_columns(const ResultsGroup& group, const Variable& variable, const HeadShape& shape,
                 const std::vector<bool>& is_removed, std::vector<HeadColumn>& columns) {
  const auto add = [&](const std::string& name, const std::vector<double>& values) {
    std::vector<std::string>& cells = columns.emplace_back(HeadColumn{name, {}}).cells;
    for (std::size_t head_index = 0; head_index < values.size(); ++head_index) {
      cells.push_back(is_removed[head_index] ? "NaN" : cell_text(variable, values[head_index]));
    }
  };
  for (const HeadSlice& slice : head_slices(group, variable, shape, most_head_slices)) {
    if (!has_number(slice.values)) continue;
    std::string name = group.name + "." + variable.name;
    if (!slice.label.empty()) name += "." + slice.label;
    std::ranges::replace(name, ' ', '_');
    std::ranges::replace(name, '/', '.');
    add(name, slice.values);
    if (!variable.interval) continue;
    add(name + "_" + layout::low, slice.low);
    add(name + "_" + layout::high, slice.high);
  }
}

std::vector<HeadColumn> head_columns(const Results& results, const HeadShape& shape) {
  std::vector<HeadColumn> columns{{"name", {}}, {"layer", {}}, {"head", {}}};
  for (std::size_t head_index = 0; head_index < shape.n_head_total(); ++head_index) {
    columns[0].cells.push_back(shape.text(head_index));
    columns[1].cells.push_back(std::to_string(head_index / shape.n_head));
    columns[2].cells.push_back(std::to_string(head_index % shape.n_head));
  }
  const std::vector<bool> is_removed = removed_heads(results, shape);
  if (const std::optional<HeadTypes> types = head_types(results)) {
    HeadColumn primary{"primary_type", {}}, all{"types", {}};
    for (std::size_t head_index = 0; head_index < shape.n_head_total(); ++head_index) {
      const std::optional<std::size_t> first = types->primary[head_index];
      primary.cells.push_back(is_removed[head_index] ? "removed"
                              : first                ? types->names[*first]
                                                     : "none");
      std::vector<std::string> names;
      for (std::size_t type = 0; type < types->names.size(); ++type) {
        if (types->has_type[head_index][type]) names.push_back(types->names[type]);
      }
      all.cells.push_back(joined(names, "; "));
    }
    columns.push_back(std::move(primary));
    columns.push_back(std::move(all));
  }
  for (const ResultsGroup& group : results.groups) {
    for (const Variable& variable : group.variables) {
      const bool is_told = variable.name == type_variable || variable.name == primary_type_variable;
      if (!is_told) add_columns(group, variable, shape, is_removed, columns);
    }
  }
  return columns;
}

}  // namespace

void write_head_table(const Results& results, const std::string& directory) {
  const std::optional<HeadShape> shape = head_shape(results);
  if (!shape) return;
  const std::vector<HeadColumn> columns = head_columns(results, *shape);
  std::vector<std::string> cells(columns.size());
  std::ranges::transform(columns, cells.begin(), &HeadColumn::name);
  std::string text = csv_row(cells);
  for (std::size_t head_index = 0; head_index < shape->n_head_total(); ++head_index) {
    std::ranges::transform(columns, cells.begin(),
                           [&](const HeadColumn& column) { return column.cells[head_index]; });
    text += csv_row(cells);
  }
  write_file((std::filesystem::path(directory) / head_table_name).string(), text);
}

}  // namespace headscope
