#pragma once

#include <string>

namespace headscope {

/// The argument with which the program prints the speed of its OpenBLAS kernel, for
/// `slow_kernel_warning`.
inline constexpr const char* kernel_speed_argument = "--kernel-speed";

/// A warning if OpenBLAS has a faster kernel for this processor than the one in use, with the ratio
/// of their speeds: this program is run once more with the other kernel and both are measured.
/// Empty if there is none.
std::string slow_kernel_warning();

}  // namespace headscope
