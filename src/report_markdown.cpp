#include <algorithm>

#include "headscope/version.hpp"
#include "long_table.hpp"
#include "report_pages.hpp"
#include "utf8.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_rows = 40;
constexpr std::size_t rows_of_large_table = 10;

// Text that no Markdown reader takes for markup.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(text)) {
    if (std::string_view("\\`*_{}[]<>#|!~&$").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string row_text(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + plain(cell) + " |";
  return row + "\n";
}

std::string claims_section(const ReportContent& content) {
  const auto claims = content.claims();
  if (claims.empty()) return "";
  std::string text =
      "## Claims\n\n| No. | Claim | Verdict | Effect | Evidence |\n|---:|---|---|---|---|\n";
  for (const auto& [claim, group] : claims) {
    const std::string effect = effect_text(*claim);
    text += row_text({std::to_string(claim->number), claim->statement,
                      std::string(verdict_text(claim->verdict)),
                      effect.empty() ? "" : claim->effect_name + ": " + effect, claim->evidence});
  }
  return text + "\n";
}

std::string figure_text(const Figure& figure) {
  std::string text =
      "![" + plain(figure.title) + "](figures/" + figure.name + ".svg)\n\n" + plain(figure.caption);
  if (!figure.source.empty()) text += " Source: " + plain(figure.source) + ".";
  return text + "\n\n";
}

std::string table_text(const LongTable& table) {
  const std::vector<std::size_t> rows =
      table.leading_rows(table.n_row() <= most_rows ? most_rows : rows_of_large_table);
  std::string text;
  if (rows.size() < table.n_row()) {
    text += "The " + std::to_string(rows.size()) + " of " + std::to_string(table.n_row()) +
            " rows with the largest absolute value:\n\n";
  }
  std::vector<std::string> names;
  std::string rule = "|";
  for (const LongTable::Column& column : table.columns()) {
    names.push_back(column.name);
    rule += column.number ? "---:|" : "---|";
  }
  text += row_text(names) + rule + "\n";
  for (const std::size_t index : rows) text += row_text(table.row(index, 5, "–"));
  return text + "\n";
}

std::string variable_text(const LongTable& table, const std::string& group) {
  const Variable& variable = table.variable();
  std::string text = "### " + plain(variable.name) + "\n\n" + plain(variable.long_name);
  if (!variable.units.empty()) text += " Units: " + plain(variable.units) + ".";
  if (!variable.references.empty()) text += " Source: " + plain(variable.references) + ".";
  if (table.n_row() <= most_csv_rows) {
    text += " Table: `tables/" + table_file_name(group, variable.name) + "`.";
  }
  return text + "\n\n" + table_text(table);
}

}  // namespace

std::string markdown_report(const ReportContent& content) {
  std::string text = "# What the attention heads of " + plain(model_name(content.results)) +
                     " do\n\nHeadscope " + plain(version()) + "\n\n" + claims_section(content);
  for (const ResultsGroup& group : content.results.groups) {
    text += "## " + plain(group.title.empty() ? group.name : group.title) + "\n\n";
    if (!group.summary.empty()) text += plain(group.summary) + "\n\n";
    for (const Figure* figure : content.figures_of(group.name)) text += figure_text(*figure);
    for (const LongTable& table : long_tables(group)) text += variable_text(table, group.name);
  }
  for (const Figure* figure : content.other_figures()) text += figure_text(*figure);
  text += "## Provenance\n\n| | |\n|---|---|\n";
  for (const auto& [name, value] : content.results.attributes) {
    text += row_text({name, attribute_text(value)});
  }
  return text;
}

}  // namespace headscope
