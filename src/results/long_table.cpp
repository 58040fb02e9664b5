#include "results/long_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headscope/number_text.hpp"

namespace headscope {
namespace {

const Variable* find(const ResultsGroup& group, const std::string& name,
                     const std::vector<std::string>& dimensions) {
  if (!group.has(name)) return nullptr;
  const Variable& variable = group.variable(name);
  return variable.dimensions == dimensions ? &variable : nullptr;
}

// The variable whose interval this one is an end of.
const Variable* interval_of(const ResultsGroup& group, const Variable& variable) {
  for (const std::string_view suffix : {"_ci_low", "_ci_high"}) {
    if (!variable.name.ends_with(suffix)) continue;
    const std::string stem = variable.name.substr(0, variable.name.size() - suffix.size());
    return find(group, stem, variable.dimensions);
  }
  return nullptr;
}

std::string element_text(const Variable& variable, std::size_t index, int digits,
                         const std::string& missing) {
  if (variable.type == Variable::Type::text) return variable.text[index];
  const double value = variable.values.values[index];
  if (std::isnan(value)) return missing;
  if (variable.type == Variable::Type::flag) {
    const auto code = static_cast<std::size_t>(value);
    if (code < variable.flag_meanings.size()) return variable.flag_meanings[code];
  }
  return number_text(value, variable.type == Variable::Type::real ? digits : 0);
}

}  // namespace

LongTable::LongTable(const ResultsGroup& group, const Variable& variable) : variable_(&variable) {
  for (const std::string& name : variable.dimensions) {
    dimensions_.push_back(&group.dimensions.at(name));
    columns_.push_back({name, dimensions_.back()->text.empty()});
    n_row_ *= dimensions_.back()->size();
  }
  const bool number =
      variable.type == Variable::Type::real || variable.type == Variable::Type::integer;
  columns_.push_back({variable.name, number});
  const Variable* const low = find(group, variable.name + "_ci_low", variable.dimensions);
  const Variable* const high = find(group, variable.name + "_ci_high", variable.dimensions);
  if (low != nullptr && high != nullptr) {
    intervals_ = {low, high};
    columns_.push_back({"ci_low"});
    columns_.push_back({"ci_high"});
  }
}

std::vector<std::string> LongTable::row(std::size_t index, int digits,
                                        const std::string& missing) const {
  std::vector<std::string> cells(dimensions_.size());
  std::size_t rest = index;
  for (std::size_t axis = dimensions_.size(); axis-- > 0;) {
    const Dimension& dimension = *dimensions_[axis];
    const std::size_t place = rest % dimension.size();
    rest /= dimension.size();
    cells[axis] = dimension.text.empty() ? number_text(dimension.values[place], digits)
                                         : dimension.text[place];
  }
  cells.push_back(element_text(*variable_, index, digits, missing));
  for (const Variable* end : intervals_) {
    cells.push_back(element_text(*end, index, digits, missing));
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
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(most), rows.end(),
                    larger);
  rows.resize(most);
  return rows;
}

std::vector<LongTable> long_tables(const ResultsGroup& group) {
  std::vector<LongTable> tables;
  for (const Variable& variable : group.variables) {
    if (interval_of(group, variable) == nullptr) tables.emplace_back(group, variable);
  }
  return tables;
}

std::string table_file_name(const std::string& group, const std::string& variable) {
  std::string name = group + "." + variable + ".csv";
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace headscope
