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

std::vector<std::string> number_cells(const Variable& variable, const std::vector<double>& values) {
  std::vector<std::string> cells;
  for (const double value : values) {
    if (variable.type == Variable::Type::flag) {
      cells.push_back(variable.flag_meanings[static_cast<std::size_t>(value)]);
    } else {
      cells.push_back(std::isnan(value) ? "NaN" : number_text(value, 0));
    }
  }
  return cells;
}

void add_columns(const ResultsGroup& group, const Variable& variable, const HeadShape& shape,
                 std::vector<HeadColumn>& columns) {
  for (const HeadSlice& slice : head_slices(group, variable, shape, most_head_slices)) {
    if (!has_number(slice.values)) continue;
    std::string name = group.name + "." + variable.name;
    if (!slice.label.empty()) name += "." + slice.label;
    std::ranges::replace(name, ' ', '_');
    std::ranges::replace(name, '/', '.');
    columns.push_back({name, number_cells(variable, slice.values)});
    if (!variable.interval) continue;
    columns.push_back({name + "_" + layout::low, number_cells(variable, slice.low)});
    columns.push_back({name + "_" + layout::high, number_cells(variable, slice.high)});
  }
}

std::vector<HeadColumn> head_columns(const Results& results, const HeadShape& shape) {
  std::vector<HeadColumn> columns{{"name", {}}, {"layer", {}}, {"head", {}}};
  for (std::size_t head_index = 0; head_index < shape.n_head_total(); ++head_index) {
    columns[0].cells.push_back(shape.text(head_index));
    columns[1].cells.push_back(std::to_string(head_index / shape.n_head));
    columns[2].cells.push_back(std::to_string(head_index % shape.n_head));
  }
  if (const std::optional<HeadTypes> types = head_types(results, shape)) {
    HeadColumn primary{"primary_type", {}}, all{"types", {}};
    for (std::size_t head_index = 0; head_index < shape.n_head_total(); ++head_index) {
      primary.cells.push_back(types->primary[head_index] ? types->names[*types->primary[head_index]]
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
      if (!is_told) add_columns(group, variable, shape, columns);
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
