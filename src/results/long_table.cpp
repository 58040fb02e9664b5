#include "results/long_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/file_names.hpp"
#include "base/number_text.hpp"
#include "results/results_layout.hpp"

namespace headscope {
namespace {

std::string real_text(double value, int digits, const std::string& missing) {
  return std::isnan(value) ? missing : number_text(value, digits);
}

std::string element_text(const Variable& variable, std::size_t index, int digits,
                         const std::string& missing) {
  if (variable.type == Variable::Type::text) return variable.text[index];
  const double value = variable.values.values[index];
  if (variable.type == Variable::Type::flag) {
    return variable.flag_meanings[static_cast<std::size_t>(value)];
  }
  return real_text(value, variable.type == Variable::Type::real ? digits : 0, missing);
}

}  // namespace

LongTable::LongTable(const ResultsGroup& group, const Variable& variable)
    : group_(&group), variable_(&variable) {
  for (const std::string& name : variable.dimensions) {
    dimensions_.push_back(&group.dimension(name));
    columns_.push_back({name, dimensions_.back()->text.empty()});
    shape_.push_back(dimensions_.back()->size());
  }
  n_row_ = element_count(shape_);
  const bool number =
      variable.type == Variable::Type::real || variable.type == Variable::Type::integer;
  columns_.push_back({variable.name, number});
  if (variable.interval) {
    columns_.push_back({layout::low});
    columns_.push_back({layout::high});
  }
}

std::vector<std::string> LongTable::row(std::size_t index, int digits,
                                        const std::string& missing) const {
  const std::vector<std::size_t> place = unravelled(index, shape_);
  std::vector<std::string> cells;
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis) {
    cells.push_back(dimensions_[axis]->label(place[axis], digits));
  }
  cells.push_back(element_text(*variable_, index, digits, missing));
  if (variable_->interval) {
    const Estimate estimate = variable_->estimate(index);
    cells.push_back(real_text(estimate.low, digits, missing));
    cells.push_back(real_text(estimate.high, digits, missing));
  }
  return cells;
}

std::vector<std::size_t> LongTable::leading_rows(std::size_t most) const {
  std::vector<std::size_t> rows(n_row_);
  std::iota(rows.begin(), rows.end(), 0);
  if (n_row_ <= most) return rows;
  if (variable_->type == Variable::Type::text) {
    rows.resize(most);
    return rows;
  }
  const std::vector<double>& values = variable_->values.values;
  std::erase_if(rows, [&](std::size_t i) { return std::isnan(values[i]); });
  most = std::min(most, rows.size());
  const auto larger = [&](std::size_t a, std::size_t b) {
    const double left = std::abs(values[a]), right = std::abs(values[b]);
    return left != right ? left > right : a < b;
  };
  std::partial_sort(rows.begin(), rows.begin() + most, rows.end(), larger);
  rows.resize(most);
  return rows;
}

bool is_pattern(const Variable& variable) {
  const std::vector<std::string>& names = variable.dimensions;
  return names.size() >= 2 && names[names.size() - 2] == "query" && names.back() == "key";
}

bool is_one_table(const ResultsGroup& group) {
  return !group.variables.empty() &&
         std::ranges::all_of(group.variables, [](const Variable& variable) {
           return variable.dimensions == std::vector<std::string>{"example"};
         });
}

std::string table_file_name(const LongTable& table) {
  std::string name = table.group().name;
  if (!is_one_table(table.group())) name += "." + table.variable().name;
  std::ranges::replace(name, '/', '.');
  return file_name(name) + ".csv";
}

bool has_table(const LongTable& table) {
  return table.n_row() <= most_csv_rows && !is_pattern(table.variable());
}

}  // namespace headscope
