#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "headscope/error.hpp"
#include "headscope/version.hpp"
#include "report/head_variables.hpp"
#include "report/html_text.hpp"
#include "report/inline_svg.hpp"
#include "report/report_assets.hpp"
#include "report/report_heads.hpp"
#include "report/report_pages.hpp"
#include "report/script_json.hpp"
#include "results/long_table.hpp"
#include "results/results_claims.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_table_rows = 400;  // a table of every head of a 24 x 16 model
constexpr std::size_t rows_of_large_table = 50;
constexpr std::size_t most_open_figures = 6;  // of a section

// One sentence that says what was found, and the rest folded.
std::string section_words(const SectionText& text) {
  std::string html =
      text.found.empty() ? "" : "<p class=\"found\">" + prose_html(text.found) + "</p>\n";
  std::string more;
  if (!text.findings.empty()) more += "<ul>\n" + findings_html(text.findings) + "</ul>\n";
  for (const std::string& paragraph : text.paragraphs) {
    more += "<p>" + prose_html(paragraph) + "</p>\n";
  }
  if (more.empty()) return html;
  return html + "<details class=\"more\"><summary>More that was found</summary>\n" + more +
         "</details>\n";
}

std::string figure_html(const DrawnFigure& drawn) {
  const Figure& figure = drawn.figure;
  const std::string svg = inline_svg(drawn.svg, figure.name + "-", figure.title);
  if (svg.empty()) {
    throw DataError(figure.name + ".svg", "",
                    "expected an SVG without scripts or links, found another");
  }
  std::string html = "<figure id=\"figure-" + html_text(figure.name) + "\" data-figure=\"" +
                     html_text(figure.name) + "\">\n<div class=\"card\">" + svg +
                     "</div>\n<figcaption><details><summary><strong>" + prose_html(figure.title) +
                     (figure.title.ends_with('?') ? "</strong>" : ".</strong>") + "</summary>" +
                     prose_html(figure.caption);
  if (!figure.source.empty()) html += " Source: " + html_text(figure.source) + ".";
  return html + " <code>figures/" + html_text(figure.name) +
         "</code></details></figcaption>\n</figure>\n";
}

std::string definition_list(const LongTable& table, const std::string& group) {
  const Variable& variable = table.variable();
  std::string html = "<dl>";
  const auto entry = [&](std::string_view term, const std::string& text) {
    if (text.empty()) return;
    html += "<dt>" + std::string(term) + "</dt><dd>" + prose_html(text) + "</dd>";
  };
  entry("Definition", variable.long_name);
  entry("Units", variable.units);
  entry("Source", variable.references);
  entry("Dataset", group + "/" + variable.name);
  if (has_table(table)) entry("Table", "tables/" + table_file_name(table));
  return html + "</dl>\n";
}

// The rows as JSON, of which the page's script makes a table when the variable is opened.
std::string table_data(const LongTable& table) {
  using nlohmann::json;
  const std::vector<std::size_t> leading =
      table.leading_rows(table.n_row() <= most_table_rows ? most_table_rows : rows_of_large_table);
  const json columns = json_list(table.columns(), [](const LongTable::Column& column) -> json {
    return {{"name", one_line(column.name)}, {"number", column.number}};
  });
  const json rows = json_list(leading, [&](std::size_t index) {
    const std::vector<std::string> cells = table.row(index, 5, "");
    json row = json::array();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!table.columns()[i].number) {
        row.push_back(one_line(cells[i]));
      } else {
        row.push_back(cells[i].empty() ? json(nullptr)
                                       : json_number(std::strtod(cells[i].c_str(), nullptr), 0));
      }
    }
    return row;
  });
  return "<script type=\"application/json\" class=\"rows\">" +
         script_json({{"columns", columns}, {"rows", rows}, {"of", table.n_row()}}) + "</script>\n";
}

std::string variable_html(const LongTable& table, const std::string& group) {
  const Variable& variable = table.variable();
  const bool scalar = variable.dimensions.empty();
  std::string html = "<details id=\"" + variable_anchor(group, variable.name) +
                     "\"><summary><span class=\"name\">" + html_text(variable.name) + "</span> " +
                     prose_html(variable.long_name);
  if (scalar) html += " <strong>" + prose_html(scalar_text(table)) + "</strong>";
  html += "</summary>\n" + definition_list(table, group);
  if (!scalar) html += table_data(table);
  return html + "</details>\n";
}

// The first figures, and the others folded.
std::string figures_html(std::span<const DrawnFigure* const> figures) {
  if (figures.empty()) return "";
  const auto grid = [](std::span<const DrawnFigure* const> shown) {
    return "<div class=\"figures\">\n" +
           joined(shown, "", [](const DrawnFigure* drawn) { return figure_html(*drawn); }) +
           "</div>\n";
  };
  if (figures.size() <= most_open_figures) return grid(figures);
  return grid(figures.first(most_open_figures)) + "<details class=\"more-figures\"><summary>" +
         count_text(figures.size() - most_open_figures, "more figure") + "</summary>\n" +
         grid(figures.subspan(most_open_figures)) + "</details>\n";
}

std::string group_section(const ReportContent& content, const ResultsGroup& group) {
  const bool is_nested = group.name.find('/') != std::string::npos;
  std::string html =
      "<section id=\"" + group_anchor(group.name) + "\"" + (is_nested ? " class=\"nested\"" : "") +
      ">\n<h2>" + html_text(group_title(group)) + "</h2>\n" +
      section_words(section_text(content, group)) + figures_html(content.figures_of(group.name));
  if (!group.variables.empty()) {
    html += "<details class=\"numbers\"><summary><strong>Numbers</strong> " +
            std::to_string(group.variables.size()) + ", each with its definition</summary>\n";
    for (const Variable& variable : group.variables) {
      html += variable_html(LongTable(group, variable), group.name);
    }
    html += "</details>\n";
  }
  return html + "</section>\n";
}

std::string provenance_section(const Results& results) {
  std::string html =
      "<section id=\"provenance\">\n<h2>Provenance</h2>\n<details><summary>What made these "
      "numbers; the same stands in the results file</summary>\n<div class=\"wide\"><table>\n"
      "<tbody>\n";
  for (const auto& [name, value] : results.attributes) {
    html += "<tr><th scope=\"row\">" + html_text(name) + "</th><td><code>" +
            html_text(results.text(name)) + "</code></td></tr>\n";
  }
  return html + "</tbody></table></div>\n</details>\n</section>\n";
}

std::string navigation(const ReportContent& content) {
  std::string html = "<nav id=\"contents\" aria-label=\"Sections\"><ul>\n";
  if (!summary_section(content).empty()) {
    html += "<li><a href=\"#summary\">Summary</a></li>\n";
  }
  if (!claims_by_number(content.results.groups).empty())
    html += "<li><a href=\"#claims\">Claims</a></li>\n";
  for (const ResultsGroup& group : content.results.groups) {
    if (group.name.find('/') != std::string::npos && !is_control(group)) continue;
    html += "<li><a href=\"#" + group_anchor(group.name) + "\">" + html_text(group_title(group)) +
            "</a></li>\n";
  }
  return html +
         "<li><a href=\"#glossary\">Glossary</a></li>\n<li><a "
         "href=\"#provenance\">Provenance</a></li>\n</ul></nav>\n";
}

// Read by the page's script; a data block is never run.
std::string data_block(const std::string& id, const std::string& data) {
  if (data.empty()) return "";
  return "<script type=\"application/json\" id=\"" + id + "\">" + data + "</script>\n";
}

// Title, contents, all sections and the data that the page's script reads.
std::string body(const ReportContent& content, const std::string& title) {
  const Results& results = content.results;
  std::string html = "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header>\n<h1>" +
                     title + "</h1>\n<p class=\"faint\">Headscope " + html_text(version());
  const std::string date = results.text("date");
  if (!date.empty()) html += ", " + html_text(date);
  html += "</p>\n</header>\n" + navigation(content) + "<main id=\"main\">\n" +
          summary_section(content) + claims_section(content);
  for (const ResultsGroup& group : results.groups) html += group_section(content, group);
  const std::vector<const DrawnFigure*> further_figures = content.other_figures();
  if (!further_figures.empty()) {
    html += "<section id=\"figures\">\n<h2>Further figures</h2>\n" + figures_html(further_figures) +
            "</section>\n";
  }
  return html + glossary_section() + provenance_section(results) + "</main>\n" +
         data_block("head-data", head_data_json(results, content.presentations, content.opened)) +
         data_block("figure-data", figure_data_json(content));
}

}  // namespace

std::string group_anchor(const std::string& group) {
  return "group-" + plain_name(group, '-');
}

std::string variable_anchor(const std::string& group, const std::string& variable) {
  return "variable-" + plain_name(group, '-') + "." + plain_name(variable, '-');
}

std::string html_report(const ReportContent& content) {
  const std::string title = html_text(content.title);
  const std::string page = body(content, title);
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      title + " – Headscope</title>\n<style>\n";
  for (const std::string_view sheet : report_css) html += sheet;
  html += grey_rules(page) + "</style>\n</head>\n<body>\n" + page + "<script>\n";
  for (const std::string_view script : report_js) html += script;
  return html + "</script>\n</body>\n</html>\n";
}

}  // namespace headscope
