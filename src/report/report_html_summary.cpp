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
  const std::string html = findings_html(first_sentences(content));
  return html.empty() ? "" : "<ul class=\"findings\">\n" + html + "</ul>\n";
}

// A row a task; the page's script makes it one of the tabs.
std::string task_table(const ReportContent& content) {
  const TaskTable table = joined_task_table(content.descriptions);
  if (table.rows.empty()) return "";
  std::string html =
      "<div id=\"tasks\" class=\"wide\"><table>\n<caption>A head is named where both zero and mean "
      "ablation find it.</caption>\n<thead><tr>";
  for (const std::string& heading : table.headings) {
    html += "<th scope=\"col\">" + prose_html(heading) + "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const TaskTable::Row& row : table.rows) {
    html += "<tr><th scope=\"row\">" + html_text(row.task) + "</th>";
    for (const std::string& cell : row.cells) html += "<td>" + prose_html(cell) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
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
  for (const Overview& overview : overviews(content)) beside += overview_table(overview);
  beside += task_table(content);
  if (const std::optional<HeadShape> shape = head_shape(content.results)) html += head_map(*shape);
  if (!beside.empty()) html += "<div class=\"beside-map\">\n" + beside + "</div>\n";
  if (html.empty()) return "";
  return "<section id=\"summary\">\n<h2>Summary</h2>\n<div class=\"overview\">\n" + html +
         "</div>\n</section>\n";
}

}  // namespace headscope
