#include <optional>

#include "base/label_text.hpp"
#include "base/utf8.hpp"
#include "headscope/report.hpp"
#include "headscope/version.hpp"
#include "report/head_variables.hpp"
#include "report/report_pages.hpp"
#include "report/report_tables.hpp"
#include "results/long_table.hpp"
#include "results/results_claims.hpp"

namespace headscope {
namespace {

// Escapes text, so that no Markdown reader takes it for markup.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(text)) {
    if (std::string_view("\\`*_{}[]<>#|!~&$").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string list_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += "- **" + plain(finding.about) + ".** " + plain(finding.text) + "\n";
    for (const std::string& item : finding.items) text += "  - " + plain(item) + "\n";
  }
  return text.empty() ? "" : text + "\n";
}

std::string section_lines(const ReportContent& content, const ResultsGroup& group) {
  const SectionText section = section_text(content, group);
  std::string text = section.found.empty() ? "" : plain(section.found) + "\n\n";
  text += list_text(section.findings);
  for (const std::string& paragraph : section.paragraphs) text += plain(paragraph) + "\n\n";
  return text;
}

std::string row_text(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + plain(cell) + " |";
  return row + "\n";
}

std::string figure_text(const Figure& figure) {
  std::string text =
      "![" + plain(figure.title) + "](figures/" + figure.name + ".svg)\n\n" + plain(figure.caption);
  if (!figure.source.empty()) text += " Source: " + plain(figure.source) + ".";
  return text + "\n\n";
}

std::string value_or_place(const LongTable& table) {
  if (!has_table(table)) return "in results.h5";
  if (!table.variable().dimensions.empty()) {
    const std::string file = "tables/" + table_file_name(table);
    return "[" + plain(file) + "](<" + plain(file) + ">)";
  }
  return plain(scalar_text(table));
}

std::string variables_text(const ResultsGroup& group) {
  if (group.variables.empty()) return "";
  std::string text =
      "| Variable | Value or table | Units | Definition | Source |\n|---|---|---|---|---|\n";
  for (const Variable& variable : group.variables) {
    text += "| " + plain(variable.name) + " | " + value_or_place(LongTable(group, variable)) +
            " | " + plain(variable.units) + " | " + plain(variable.long_name) + " | " +
            plain(variable.references) + " |\n";
  }
  return text + "\n";
}

std::string summary_text(const ReportContent& content) {
  const std::string list = list_text(first_sentences(content));
  return list.empty() ? "" : "## Summary\n\n" + list;
}

// Empty without rows.
std::string table_text(const ReportTable& table) {
  if (table.rows.empty()) return "";
  std::string text = row_text(table.headings) + "|";
  for (std::size_t i = 0; i < table.headings.size(); ++i) text += "---|";
  text += "\n";
  for (const ReportTable::Row& row : table.rows) {
    const std::string label = plain(row.label);
    text += "| " + (row.page.empty() ? label : "[" + label + "](" + row.page + ")") + " " +
            row_text(row.cells);
  }
  return text + "\n";
}

std::string claims_text(const ReportContent& content) {
  ReportTable table{"", {"No.", "Claim", "Verdict", "Effect", "Evidence"}, {}};
  for (const auto& [claim, group, label] : claims_by_group(content.results.groups)) {
    const std::string effect = effect_text(*claim);
    table.rows.push_back(
        {label,
         "",
         {claim->statement, std::string(verdict_text(*claim)),
          effect.empty() ? "" : claim->effect_name + ": " + effect,
          claim->evidence + (claim->source.empty() ? "" : " Source: " + claim->source + ".")}});
  }
  if (table.rows.empty()) return "";
  return "## Claims\n\n" + plain(claims_paragraph(content.results)) + "\n\n" + table_text(table);
}

// Each head's main type or `removed`, a row for each layer.
std::string head_map_text(const Results& results) {
  const std::optional<HeadTypes> types = head_types(results);
  if (!types) return "";
  const HeadShape shape = head_shape(results).value();
  const std::vector<bool> is_removed = removed_heads(results, shape);
  ReportTable map{"", {""}, {}};
  for (std::size_t head = 0; head < shape.n_head; ++head) {
    map.headings.push_back("H" + std::to_string(head));
  }
  for (std::size_t head_index = 0; head_index < shape.n_head_total(); ++head_index) {
    if (head_index % shape.n_head == 0) {
      map.rows.push_back({"L" + std::to_string(head_index / shape.n_head), "", {}});
    }
    const std::optional<std::size_t> type = types->primary[head_index];
    map.rows.back().cells.push_back(is_removed[head_index] ? "removed"
                                    : type                 ? spaced(types->names[*type])
                                                           : "–");
  }
  return table_text(map);
}

}  // namespace

std::string markdown_report(const ReportContent& content) {
  std::string text = "# " + plain(content.title) + "\n\nHeadscope " + plain(version()) + "\n\n" +
                     summary_text(content);
  for (const ReportTable& overview : overview_tables(content)) text += table_text(overview);
  text += head_map_text(content.results) + table_text(task_table(content)) + claims_text(content);
  for (const ResultsGroup& group : content.results.groups) {
    text += "## " + plain(group_title(group)) + "\n\n";
    text += section_lines(content, group);
    for (const DrawnFigure* drawn : content.figures_of(group.name))
      text += figure_text(drawn->figure);
    text += variables_text(group);
  }
  for (const DrawnFigure* drawn : content.other_figures()) text += figure_text(drawn->figure);
  text += "## Provenance\n\n| | |\n|---|---|\n";
  for (const auto& [name, value] : content.results.attributes) {
    text += row_text({name, content.results.text(name)});
  }
  return text;
}

}  // namespace headscope
