#pragma once

#include <string>
#include <vector>

#include "report/report_pages.hpp"

namespace headscope {

/// A group's overview table as text.
struct Overview {
  std::string title;
  std::vector<std::string> headings;  ///< of the label and the columns
  struct Row {
    std::string label;
    std::string page;  ///< a relative or absolute path, percent-encoded; empty: none
    std::vector<std::string> cells;
  };
  std::vector<Row> rows;
};

/// The overview tables of all groups; columns without a number are left out.
std::vector<Overview> overviews(const ReportContent& content);

}  // namespace headscope
