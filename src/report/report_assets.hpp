#pragma once

#include <span>
#include <string_view>

namespace headscope {

/// The style sheets and scripts of `src/report/page/` in order, embedded when the library is
/// configured.
extern const std::span<const std::string_view> report_css, report_js;

}  // namespace headscope
