#pragma once

#include <string>

namespace headscope {

/// The time in whole seconds, minutes or hours: `41 s`, `2 min 5 s`, `1 h 12 min`.
std::string duration_text(double seconds);

}  // namespace headscope
