#pragma once

#include <string>

#include "report/report_pages.hpp"

namespace headscope {

/// What the figures show, as JSON that is safe inside a `script` element: for each figure by name
/// its title and source, where its panels lie in the SVG, and the numbers drawn in them. `made`
/// names the version, model and date to cite.
std::string figure_data_json(const ReportContent& content);

}  // namespace headscope
