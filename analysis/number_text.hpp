#pragma once

#include <cstdint>
#include <string>

namespace headscope {

/// `124,439,808`
std::string grouped(std::uint64_t count);
/// `0.083` with the given number of decimals.
std::string decimals(double value, int count);
/// Three significant digits, `1.19e-07` where that is shorter.
std::string significant(double value);
/// `8.3 %` of a share of 1.
std::string percent(double share);

}  // namespace headscope
