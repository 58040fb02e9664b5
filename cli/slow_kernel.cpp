#include "slow_kernel.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "compute/product/kernel.hpp"
#include "files/descriptor.hpp"
#include "headscope/processor.hpp"

namespace headscope {
namespace {

// What a child process prints as the speed of its kernel; none if it cannot be started.
std::optional<double> speed_with(const std::string& kernel) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const Descriptor read_end(ends[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = "headscope", argument = kernel_speed_argument;
  char* const arguments[] = {name.data(), argument.data(), nullptr};
  // This process's OpenBLAS has read the variable.
  setenv("OPENBLAS_CORETYPE", kernel.c_str(), 1);
  pid_t child = 0;
  const int failure = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failure != 0) return std::nullopt;
  std::string text;
  std::array<char, 64> block{};
  for (ssize_t n = 0; (n = read(read_end, block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<std::size_t>(n));
  }
  int status = 0;
  waitpid(child, &status, 0);
  const double speed = std::strtod(text.c_str(), nullptr);
  if (status != 0 || speed <= 0) return std::nullopt;
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
