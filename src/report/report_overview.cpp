#include "report/report_overview.hpp"

#include <cctype>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "report/head_variables.hpp"

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

void add_columns(const ResultsGroup& group, const Variable& variable, Overview& overview) {
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

std::vector<Overview> overviews(const ReportContent& content) {
  std::vector<Overview> all;
  for (const Description& description : content.descriptions) {
    const OverviewTable& table = description.overview;
    if (table.variables.empty()) continue;
    const ResultsGroup& group = content.results.group(description.group);
    Overview overview{table.title, {table.dimension}, {}};
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

}  // namespace headscope
