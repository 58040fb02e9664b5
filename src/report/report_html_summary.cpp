#include "base/text.hpp"
#include "headscope/report.hpp"
#include "report/head_variables.hpp"
#include "report/html_text.hpp"
#include "report/report_overview.hpp"
#include "report/report_pages.hpp"

namespace headscope {
namespace {

std::string finding_html(const Finding& finding) {
  const std::string items = joined(finding.items, "\n", [](const std::string& item) {
    return "<li>" + prose_html(item) + "</li>";
  });
  return "<li><strong>" + html_text(finding.about) + ".</strong> " + prose_html(finding.text) +
         (items.empty() ? "" : "\n<ul>\n" + items + "</ul>") + "</li>\n";
}

std::string findings_list(const ReportContent& content) {
  const std::string html =
      joined(findings(content.results, content.descriptions), "", finding_html);
  return html.empty() ? "" : "<ul class=\"findings\">\n" + html + "</ul>\n";
}

std::string overview_table(const Overview& overview) {
  std::string html = "<div class=\"wide\"><table class=\"overview-table sortable\">\n<caption>" +
                     html_text(overview.title) + "</caption>\n<thead><tr>";
  for (const std::string& heading : overview.headings) {
    html += "<th scope=\"col\"" +
            std::string(&heading == &overview.headings.front() ? "" : " class=\"number\"") +
            "><button type=\"button\">" + html_text(heading) + "</button></th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const Overview::Row& row : overview.rows) {
    const std::string label = html_text(row.label);
    html += "<tr><td>" +
            (row.page.empty() ? label : "<a href=\"" + row.page + "\">" + label + "</a>") + "</td>";
    for (const std::string& cell : row.cells) {
      html += "<td class=\"number\" data-number=\"" + html_text(cell.substr(0, cell.find(' '))) +
              "\">" + prose_html(cell) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

// A cell for each head; the page's script colours them and opens the head's panel.
std::string head_map(const HeadShape& shape) {
  std::string html =
      "<div id=\"head-map\">\n<div class=\"wide\"><table class=\"head-map\">\n"
      "<caption>Choose a head to see its scores and patterns.</caption>\n<thead><tr><td></td>";
  for (std::size_t head = 0; head < shape.n_head; ++head) {
    html += "<th scope=\"col\">H" + std::to_string(head) + "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t layer = 0; layer < shape.n_layer; ++layer) {
    html += "<tr><th scope=\"row\">L" + std::to_string(layer) + "</th>";
    for (std::size_t head = 0; head < shape.n_head; ++head) {
      const std::size_t head_index = layer * shape.n_head + head;
      html += "<td><button type=\"button\" data-head-index=\"" + std::to_string(head_index) +
              "\">" + shape.text(head_index) + "</button></td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n</div>\n";
}

}  // namespace

std::string summary_section(const ReportContent& content) {
  std::string html = findings_list(content);
  for (const Overview& overview : overviews(content)) html += overview_table(overview);
  if (const std::optional<HeadShape> shape = head_shape(content.results)) html += head_map(*shape);
  if (html.empty()) return "";
  return "<section id=\"summary\">\n<h2>Summary</h2>\n<div class=\"overview\">\n" + html +
         "</div>\n</section>\n";
}

}  // namespace headscope
