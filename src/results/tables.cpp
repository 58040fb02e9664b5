#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "files/pending_file.hpp"
#include "headscope/error.hpp"
#include "headscope/results.hpp"
#include "headscope/utf8.hpp"
#include "results/long_table.hpp"

namespace headscope {
namespace {

// Spreadsheets run a cell that begins like this as a formula, unless it is a number.
bool is_formula(const std::string& cell) {
  if (cell.size() < 2 || std::string_view("=+-@").find(cell[0]) == std::string_view::npos) {
    return false;
  }
  char* end = nullptr;
  std::strtod(cell.c_str(), &end);
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
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') quoted += '"';
  }
  return quoted + "\"";
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (const std::string& cell : cells) {
    if (!row.empty() || &cell != &cells.front()) row += ',';
    row += csv_field((is_formula(cell) ? "'" : "") + printable_lines(cell));
  }
  return row + "\n";
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

}  // namespace

void remove_tables(const std::string& directory, const std::vector<std::string>& groups) {
  namespace fs = std::filesystem;
  std::vector<std::string> tables;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename().string();
    const bool is_of_a_group =
        std::any_of(groups.begin(), groups.end(),
                    [&](const std::string& group) { return name.starts_with(group + "."); });
    if (is_of_a_group && name.ends_with(".csv")) tables.push_back(entry.path().string());
  }
  for (const std::string& table : tables) remove_file(table);
}

void write_tables(const Results& results, const std::string& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) throw DataError(directory, "", "cannot be made: " + failure.message());
  for (const ResultsGroup& group : results.groups) {
    for (const Variable& variable : group.variables) {
      const LongTable table(group, variable);
      if (table.n_row() > most_csv_rows) continue;
      const std::string name = table_file_name(group.name, variable.name);
      write_table(table, (std::filesystem::path(directory) / name).string());
    }
  }
}

}  // namespace headscope
