#include <algorithm>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/error.hpp"
#include "headscope/version.hpp"
#include "report/head_variables.hpp"
#include "report/html_text.hpp"
#include "report/inline_svg.hpp"
#include "report/report_assets.hpp"
#include "report/report_figures.hpp"
#include "report/report_glossary.hpp"
#include "report/report_heads.hpp"
#include "report/report_pages.hpp"
#include "results/long_table.hpp"
#include "results/results_claims.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_table_rows = 400;  // a table of every head of a 24 x 16 model
constexpr std::size_t rows_of_large_table = 50;

std::string paragraphs(const std::string& text) {
  std::string html;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end > start) html += "<p>" + prose_html(text.substr(start, end - start)) + "</p>\n";
    start = end + 1;
  }
  return html;
}

std::string badge(Verdict verdict) {
  const std::string_view kind = verdict == Verdict::holds           ? "holds\">✓ "
                                : verdict == Verdict::does_not_hold ? "fails\">✗ "
                                                                    : "open\">? ";
  return "<span class=\"badge " + std::string(kind) + std::string(verdict_text(verdict)) +
         "</span>";
}

std::string claim_row(const PlacedClaim& placed) {
  const Claim& claim = *placed.claim;
  return "<tr><td class=\"number\">" + placed.label + "</td><td>" + prose_html(claim.statement) +
         "<div class=\"evidence\">" + prose_html(claim.evidence) +
         (claim.source.empty() ? "" : " Source: " + html_text(claim.source) + ".") +
         "</div></td><td>" + badge(claim.verdict) + "</td><td>" + prose_html(effect_text(claim)) +
         "<div class=\"evidence\">" + prose_html(claim.effect_name) + "</div></td><td><a href=\"#" +
         group_anchor(placed.group->name) + "\">" + html_text(placed.group->name) +
         "</a></td></tr>\n";
}

std::string claims_section(const ReportContent& content) {
  const auto claims = claims_by_group(content.results.groups);
  if (claims.empty()) return "";
  std::string measured, arithmetic;
  for (const PlacedClaim& each : claims) {
    (each.claim->arithmetic ? arithmetic : measured) += claim_row(each);
  }
  std::string html =
      "<section id=\"claims\">\n<h2>Claims</h2>\n<p>What is said of attention heads, and what this "
      "model shows. Intervals are 95\u00a0%. An exact effect has no sampling error; one with no "
      "interval has an error that was not measured.</p>\n"
      "<div class=\"wide\"><table class=\"claims\">\n<thead><tr><th scope=\"col\">No.</th>"
      "<th scope=\"col\">Claim</th><th scope=\"col\">Verdict</th><th scope=\"col\">Effect</th>"
      "<th scope=\"col\">From</th></tr></thead>\n";
  if (!measured.empty()) html += "<tbody>\n" + measured + "</tbody>\n";
  if (!arithmetic.empty()) {
    html +=
        "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"5\">True of every such model, by "
        "arithmetic</th></tr>\n" +
        arithmetic + "</tbody>\n";
  }
  return html + "</table></div>\n</section>\n";
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
                     "</div>\n<figcaption><strong>" + prose_html(figure.title) +
                     (figure.title.ends_with('?') ? "</strong> " : ".</strong> ") +
                     prose_html(figure.caption);
  if (!figure.source.empty()) html += " Source: " + html_text(figure.source) + ".";
  return html + " <span class=\"faint\"><code>figures/" + html_text(figure.name) +
         "</code></span></figcaption>\n</figure>\n";
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

std::string table_html(const LongTable& table) {
  const std::vector<std::size_t> rows =
      table.leading_rows(table.n_row() <= most_table_rows ? most_table_rows : rows_of_large_table);
  std::string html = "<div class=\"wide\"><table class=\"sortable\">\n";
  if (rows.size() < table.n_row()) {
    html += "<caption>The " + std::to_string(rows.size()) + " of " + std::to_string(table.n_row()) +
            " rows with the largest absolute value</caption>\n";
  }
  html += "<thead><tr>";
  for (const LongTable::Column& column : table.columns()) {
    html += std::string("<th scope=\"col\"") + (column.number ? " class=\"number\"" : "") +
            "><button type=\"button\">" + html_text(column.name) + "</button></th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const std::size_t index : rows) {
    const std::vector<std::string> cells = table.row(index, 5, "–");
    html += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      html += table.columns()[i].number ? "<td class=\"number\">" + number_html(cells[i])
                                        : "<td>" + html_text(cells[i]);
      html += "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string variable_html(const LongTable& table, const std::string& group) {
  const Variable& variable = table.variable();
  const bool scalar = variable.dimensions.empty();
  std::string html = "<details id=\"" + variable_anchor(group, variable.name) +
                     "\"><summary><span class=\"name\">" + html_text(variable.name) + "</span> " +
                     prose_html(variable.long_name);
  if (scalar) html += " <strong>" + prose_html(scalar_text(table)) + "</strong>";
  html += "</summary>\n" + definition_list(table, group);
  if (!scalar) html += table_html(table);
  return html + "</details>\n";
}

std::string group_section(const ReportContent& content, const ResultsGroup& group) {
  std::string html = "<section id=\"" + group_anchor(group.name) + "\">\n<h2>" +
                     html_text(group_title(group)) + "</h2>\n" + paragraphs(group.summary);
  for (const DrawnFigure* drawn : content.figures_of(group.name)) html += figure_html(*drawn);
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
      "<section id=\"provenance\">\n<h2>Provenance</h2>\n<p>What made these numbers; the same "
      "stands in the results file.</p>\n<div class=\"wide\"><table>\n<tbody>\n";
  for (const auto& [name, value] : results.attributes) {
    html += "<tr><th scope=\"row\">" + html_text(name) + "</th><td><code>" +
            html_text(results.text(name)) + "</code></td></tr>\n";
  }
  return html + "</tbody></table></div>\n</section>\n";
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
  const std::vector<const DrawnFigure*> others = content.other_figures();
  if (!others.empty()) {
    html += "<section id=\"figures\">\n<h2>Further figures</h2>\n";
    for (const DrawnFigure* drawn : others) html += figure_html(*drawn);
    html += "</section>\n";
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
