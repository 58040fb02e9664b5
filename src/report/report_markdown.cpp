#include <optional>

#include "base/utf8.hpp"
#include "headscope/report.hpp"
#include "headscope/version.hpp"
#include "report/head_variables.hpp"
#include "report/report_overview.hpp"
#include "report/report_pages.hpp"
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

std::string claims_text(const ReportContent& content) {
  const auto claims = claims_by_group(content.results.groups);
  if (claims.empty()) return "";
  std::string text = "## Claims\n\n" + plain(claims_line(content.results)) +
                     "\n\n| No. | Claim | Verdict | Effect | Evidence |\n|---:|---|---|---|---|\n";
  for (const auto& [claim, group, label] : claims) {
    const std::string effect = effect_text(*claim);
    text += row_text(
        {label, claim->statement, std::string(verdict_text(claim->verdict)),
         effect.empty() ? "" : claim->effect_name + ": " + effect,
         claim->evidence + (claim->source.empty() ? "" : " Source: " + claim->source + ".")});
  }
  return text + "\n";
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

// A row a task; empty without tasks.
std::string tasks_text(const ReportContent& content) {
  const TaskTable table = joined_task_table(content.descriptions);
  if (table.rows.empty()) return "";
  std::string text = row_text(table.headings) + "|";
  for (std::size_t i = 0; i < table.headings.size(); ++i) text += "---|";
  text += "\n";
  for (const TaskTable::Row& row : table.rows) {
    text += "| " + plain(row.task) + " " + row_text(row.cells);
  }
  return text + "\n";
}

std::string overviews_text(const ReportContent& content) {
  std::string text;
  for (const Overview& overview : overviews(content)) {
    text += row_text(overview.headings) + "|";
    for (std::size_t i = 0; i < overview.headings.size(); ++i) text += "---|";
    text += "\n";
    for (const Overview::Row& row : overview.rows) {
      text +=
          "| " +
          (row.page.empty() ? plain(row.label) : "[" + plain(row.label) + "](" + row.page + ")") +
          " " + row_text(row.cells);
    }
    text += "\n";
  }
  return text;
}

// Each head's main type, a row for each layer.
std::string head_map_text(const Results& results) {
  const std::optional<HeadShape> shape = head_shape(results);
  const std::optional<HeadTypes> types =
      shape ? head_types(results, *shape) : std::optional<HeadTypes>();
  if (!types) return "";
  std::string names = "| |", rule = "|---|", rows;
  for (std::size_t head = 0; head < shape->n_head; ++head) {
    names += " H" + std::to_string(head) + " |";
    rule += "---|";
  }
  for (std::size_t head_index = 0; head_index < shape->n_head_total(); ++head_index) {
    if (head_index % shape->n_head == 0) {
      rows += (head_index > 0 ? "\n" : "") +
              ("| **L" + std::to_string(head_index / shape->n_head) + "** |");
    }
    rows += " " +
            (types->primary[head_index] ? plain(types->names[*types->primary[head_index]]) : "–") +
            " |";
  }
  return names + "\n" + rule + "\n" + rows + "\n\n";
}

}  // namespace

std::string markdown_report(const ReportContent& content) {
  std::string text = "# " + plain(content.title) + "\n\nHeadscope " + plain(version()) + "\n\n" +
                     summary_text(content) + overviews_text(content) +
                     head_map_text(content.results) + tasks_text(content) + claims_text(content);
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
