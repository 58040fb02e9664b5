#include "slow_kernel.hpp"

#include <unistd.h>

#include <cstdio>
#include <optional>

#include "compute/product/kernel.hpp"
#include "headscope/processor.hpp"

namespace headscope {
namespace {

// What this program prints, run with another kernel, as the kernel's speed; none if it does not
// run.
std::optional<double> speed_with(const std::string& kernel) {
  const std::string command = "OPENBLAS_CORETYPE=" + kernel + " /proc/" + std::to_string(getpid()) +
                              "/exe " + kernel_speed_argument;
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return std::nullopt;
  double speed = 0;
  const bool is_number = std::fscanf(output, "%lf", &speed) == 1;
  if (pclose(output) != 0 || !is_number || speed <= 0) return std::nullopt;
  return speed;
}

}  // namespace

std::string slow_kernel_warning() {
  const std::optional<std::string> better =
      blas::better_kernel(this_processor(), blas::kernel_in_use());
  if (!better) return "";
  std::optional<double> ratio = speed_with(*better);
  if (ratio) *ratio /= blas::sgemm_speed();
  return blas::kernel_warning(*better, ratio);
}

}  // namespace headscope
