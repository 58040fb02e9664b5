#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "files/pending_file.hpp"
#include "headscope/error.hpp"
#include "headscope/head_types.hpp"
#include "headscope/output_lock.hpp"
#include "headscope/results.hpp"
#include "results/long_table.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

// Lists the tables that a run wrote: the files that the next run may remove.
constexpr const char* manifest_name = "headscope-tables.txt";
const std::string manifest_line = "Tables written by Headscope; the next run removes them.\n";

// Spreadsheets run a cell that begins like this as a formula, unless it is a number. Some of them
// leave out white space before it, and take the wide forms of Chinese and Japanese fonts.
bool is_formula(std::string_view cell) {
  const std::size_t begin = std::min(cell.find_first_not_of(" \t\r\n"), cell.size());
  const std::string text(cell.substr(begin));
  const auto begins_with = [&](std::string_view mark) {
    return text.starts_with(mark) && text.size() > mark.size();
  };
  constexpr std::array marks{"=", "+", "-", "@", "＝", "＋", "－", "＠"};
  if (std::ranges::none_of(marks, begins_with)) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end != '\0';
}

// One line of text for each line of the cell.
std::string printable_lines(std::string_view cell) {
  std::string text;
  for (std::size_t end = 0; (end = cell.find('\n')) != cell.npos; cell.remove_prefix(end + 1)) {
    text += one_line(cell.substr(0, end)) + "\n";
  }
  return text + one_line(cell);
}

// RFC 4180: quotes around anything that holds a separator, quotes doubled.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return "\"" + escaped(text, {{'"', "\"\""}}) + "\"";
}

void write_table(const LongTable& table, const std::string& path) {
  std::vector<std::string> names;
  for (const LongTable::Column& column : table.columns()) names.push_back(column.name);
  std::string text = csv_row(names);
  for (std::size_t index = 0; index < table.n_row(); ++index) {
    text += csv_row(table.row(index, 0, "NaN"));
  }
  write_file(path, text);
}

// The names that the list of an earlier run gives; none if it is another's file.
std::vector<std::string> listed_tables(const fs::path& manifest) {
  std::vector<std::string> names;
  std::ifstream list(manifest);
  std::string line;
  if (!std::getline(list, line) || line + "\n" != manifest_line) return names;
  while (std::getline(list, line)) {
    if (line.ends_with(".csv") && line.find('/') == line.npos) names.push_back(line);
  }
  return names;
}

void write_list(const std::vector<std::string>& names, const std::string& directory) {
  std::string list = manifest_line;
  for (const std::string& name : names) list += name + "\n";
  write_file((fs::path(directory) / manifest_name).string(), list);
}

// A row per example, a column per variable.
void write_examples(const ResultsGroup& group, const std::string& directory) {
  std::vector<LongTable> columns;
  for (const Variable& variable : group.variables) columns.emplace_back(group, variable);
  std::vector<std::string> cells{columns.front().columns().front().name};
  for (const LongTable& column : columns) cells.push_back(column.variable().name);
  std::string text = csv_row(cells);
  for (std::size_t index = 0; index < columns.front().n_row(); ++index) {
    cells = {columns.front().row(index, 0, "NaN").front()};
    for (const LongTable& column : columns) cells.push_back(column.row(index, 0, "NaN")[1]);
    text += csv_row(cells);
  }
  write_file((fs::path(directory) / table_file_name(columns.front())).string(), text);
}

/// The variables' tables that the predicate takes.
template <typename Takes>
std::vector<LongTable> tables_of(const Results& results, const Takes& takes) {
  std::vector<LongTable> tables;
  for (const ResultsGroup& group : results.groups) {
    for (const Variable& variable : group.variables) {
      LongTable table(group, variable);
      if (takes(table)) tables.push_back(std::move(table));
    }
  }
  return tables;
}

void write_all(const std::vector<LongTable>& tables, const std::string& directory) {
  for (const LongTable& table : tables) {
    write_table(table, (fs::path(directory) / table_file_name(table)).string());
  }
}

}  // namespace

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) row += ',';
    row += csv_field((is_formula(cell) ? "'" : "") + printable_lines(cell));
  }
  return row + "\n";
}

void remove_tables(const std::string& directory, const std::vector<std::string>& groups) {
  for (const std::string& name : listed_tables(fs::path(directory) / manifest_name)) {
    const bool is_of_a_group = std::ranges::any_of(
        groups, [&](const std::string& group) { return name.starts_with(group + "."); });
    if (is_of_a_group || name == head_table_name) {
      remove_file((fs::path(directory) / name).string());
    }
  }
}

void write_tables(const Results& results, const std::string& directory) {
  make_folder(directory);
  const std::vector<LongTable> tables = tables_of(results, [](const LongTable& table) {
    return has_table(table) && !is_one_table(table.group());
  });
  std::vector<const ResultsGroup*> examples;
  std::vector<std::string> names;
  if (head_shape(results)) names.emplace_back(head_table_name);
  for (const LongTable& table : tables) names.push_back(table_file_name(table));
  for (const ResultsGroup& group : results.groups) {
    if (!is_one_table(group)) continue;
    examples.push_back(&group);
    names.push_back(table_file_name(LongTable(group, group.variables.front())));
  }
  // The list goes first, so that the tables of a killed run are known too.
  write_list(names, directory);
  write_all(tables, directory);
  for (const ResultsGroup* group : examples) write_examples(*group, directory);
}

void write_pattern_tables(const Results& results, const std::string& directory) {
  const std::vector<LongTable> tables =
      tables_of(results, [](const LongTable& table) { return is_pattern(table.variable()); });
  std::vector<std::string> names = listed_tables(fs::path(directory) / manifest_name);
  for (const LongTable& table : tables) names.push_back(table_file_name(table));
  write_list(names, directory);
  write_all(tables, directory);
}

}  // namespace headscope
