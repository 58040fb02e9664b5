#pragma once

#include <string_view>

namespace headscope {

/// `src/report/report.css` and `src/report/report.js`, embedded when the library is configured.
extern const std::string_view report_css, report_js;

}  // namespace headscope
