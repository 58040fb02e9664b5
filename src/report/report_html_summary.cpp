#include "base/text.hpp"
#include "headscope/report.hpp"
#include "report/head_variables.hpp"
#include "report/html_text.hpp"
#include "report/report_pages.hpp"
#include "report/report_tables.hpp"

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
  const std::string html = findings_html(first_sentences(content));
  return html.empty() ? "" : "<ul class=\"findings\">\n" + html + "</ul>\n";
}

// A cell for each head; the page's script colours them and opens the head's panel.
std::string head_map(const HeadShape& shape) {
  std::string html =
      "<div id=\"head-map\">\n<div class=\"wide\"><table class=\"head-map\" style=\"--layers: " +
      std::to_string(shape.n_layer) + "; --heads: " + std::to_string(shape.n_head) +
      "\">\n<caption>Choose a head to see its scores and patterns.</caption>\n"
      "<thead><tr><td></td>";
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

std::string findings_html(const std::vector<Finding>& findings) {
  return joined(findings, "", finding_html);
}

std::string summary_section(const ReportContent& content) {
  std::string beside = findings_list(content), html;
  for (const ReportTable& overview : overview_tables(content)) {
    beside +=
        "<div class=\"wide\">" + table_html(overview, " class=\"sortable\"", true) + "</div>\n";
  }
  // The page's script makes it one of the tabs.
  if (const ReportTable tasks = task_table(content); !tasks.rows.empty()) {
    beside += "<div id=\"tasks\" class=\"wide\">" + table_html(tasks, "", false) + "</div>\n";
  }
  if (const std::optional<HeadShape> shape = head_shape(content.results)) html += head_map(*shape);
  if (!beside.empty()) html += "<div class=\"beside-map\">\n" + beside + "</div>\n";
  if (html.empty()) return "";
  return "<section id=\"summary\">\n<h2>Summary</h2>\n<div class=\"overview\">\n" + html +
         "</div>\n</section>\n";
}

}  // namespace headscope
