#include "report/report_tables.hpp"

#include <algorithm>
#include <cctype>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "report/head_variables.hpp"
#include "report/html_text.hpp"

namespace headscope {
namespace {

// A path as the target of a link. Every byte that could begin a scheme, a host, a query or a
// fragment is encoded.
std::string link_path(const std::string& path) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string link;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' && link == "/") continue;  // two slashes would begin a host
    if (byte < 128 &&
        (std::isalnum(byte) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos)) {
      link += c;
    } else {
      link += {'%', digits[byte / 16], digits[byte % 16]};
    }
  }
  return link;
}

void add_columns(const ResultsGroup& group, const Variable& variable, ReportTable& overview) {
  const std::size_t n_row = overview.rows.size();
  if (n_row == 0 || variable.dimensions.size() > 2 || !has_number(variable.values.values)) return;
  const std::vector<std::string> labels = variable.dimensions.size() == 2
                                              ? dimension_labels(group, variable.dimensions[1])
                                              : std::vector<std::string>{""};
  for (std::size_t column = 0; column < labels.size(); ++column) {
    overview.headings.push_back(
        spaced(variable.name + (labels[column].empty() ? "" : ", " + labels[column])));
    for (std::size_t row = 0; row < n_row; ++row) {
      overview.rows[row].cells.push_back(
          estimate_text(variable.estimate(row * labels.size() + column), 3));
    }
  }
}

}  // namespace

std::vector<ReportTable> overview_tables(const ReportContent& content) {
  std::vector<ReportTable> all;
  for (const Description& description : content.descriptions) {
    const OverviewTable& table = description.overview;
    if (table.variables.empty()) continue;
    const ResultsGroup& group = content.results.group(description.group);
    ReportTable overview{table.title, {table.dimension}, {}};
    const Variable* const pages = group.find(table.pages);
    for (const std::string& label : dimension_labels(group, table.dimension)) {
      const std::size_t row = overview.rows.size();
      const bool is_linked = pages != nullptr && row < pages->text.size();
      overview.rows.push_back({label, is_linked ? link_path(pages->text[row]) : "", {}});
    }
    for (const std::string& name : table.variables) {
      const Variable* const variable = group.find(name);
      if (variable == nullptr || variable->type == Variable::Type::text ||
          variable->dimensions.empty() || variable->dimensions[0] != table.dimension) {
        continue;
      }
      add_columns(group, *variable, overview);
    }
    all.push_back(std::move(overview));
  }
  return all;
}

ReportTable task_table(const ReportContent& content) {
  ReportTable joined{"A head is named where both zero and mean ablation find it.", {"task"}, {}};
  for (const Description& description : content.descriptions) {
    const TaskTable& table = description.tasks;
    for (const TaskTable::Row& row : table.rows) {
      auto place = std::ranges::find(joined.rows, row.task, &ReportTable::Row::label);
      if (place == joined.rows.end()) {
        joined.rows.push_back(
            {row.task, "", std::vector<std::string>(joined.headings.size() - 1, "–")});
        place = joined.rows.end() - 1;
      }
      place->cells.insert(place->cells.end(), row.cells.begin(), row.cells.end());
    }
    joined.headings.insert(joined.headings.end(), table.headings.begin(), table.headings.end());
    for (ReportTable::Row& row : joined.rows) row.cells.resize(joined.headings.size() - 1, "–");
  }
  return joined;
}

std::string table_html(const ReportTable& table, const std::string& attributes, bool is_numeric) {
  std::string html = "<table" + attributes + ">\n<caption>" + prose_html(table.caption) +
                     "</caption>\n<thead><tr>";
  for (std::size_t i = 0; i < table.headings.size(); ++i) {
    const std::string heading = prose_html(table.headings[i]);
    html += is_numeric && i > 0 ? "<th scope=\"col\" class=\"number\">" : "<th scope=\"col\">";
    html += (is_numeric ? "<button type=\"button\">" + heading + "</button>" : heading) + "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const ReportTable::Row& row : table.rows) {
    const std::string label = html_text(row.label);
    html += "<tr><th scope=\"row\">" +
            (row.page.empty() ? label : "<a href=\"" + row.page + "\">" + label + "</a>") + "</th>";
    for (const std::string& cell : row.cells) {
      const std::string number = html_text(cell.substr(0, cell.find(' ')));
      html += (is_numeric ? "<td class=\"number\" data-number=\"" + number + "\">" : "<td>") +
              prose_html(cell) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>";
}

}  // namespace headscope
