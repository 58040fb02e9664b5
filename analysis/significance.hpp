#pragma once

namespace headscope {

/// Effects with a smaller q-value count as significant.
inline constexpr double significant_q = 0.05;

}  // namespace headscope
