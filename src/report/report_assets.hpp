#pragma once

#include <string_view>

namespace headscope {

/// The style sheets and scripts of `src/report/`, embedded when the library is configured.
extern const std::string_view report_css, report_js;

}  // namespace headscope
