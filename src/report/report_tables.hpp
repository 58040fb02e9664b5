#pragma once

#include <string>
#include <vector>

#include "report/report_pages.hpp"

namespace headscope {

/// A table as text. Both reports show the same tables.
struct ReportTable {
  std::string caption;
  std::vector<std::string> headings;  ///< of the label and the columns
  struct Row {
    std::string label;
    std::string page;  ///< a relative or absolute path, percent-encoded; empty: none
    std::vector<std::string> cells;
  };
  std::vector<Row> rows;
};

/// The overview tables of all groups; columns without a number are left out.
std::vector<ReportTable> overview_tables(const ReportContent& content);

/// The descriptions' tables of tasks, joined by task. Without rows if there is none.
ReportTable task_table(const ReportContent& content);

/// @param attributes  of the table: ` class="wide"`.
/// @param is_numeric  whether the cells begin with a number; such a table can be sorted.
std::string table_html(const ReportTable& table, const std::string& attributes, bool is_numeric);

}  // namespace headscope
