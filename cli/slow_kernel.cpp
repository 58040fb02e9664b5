#include "slow_kernel.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "compute/product/kernel.hpp"
#include "files/descriptor.hpp"
#include "headscope/processor.hpp"

namespace headscope {
namespace {

// This environment with another kernel.
std::vector<std::string> environment_with(const std::string& kernel) {
  const std::string name = "OPENBLAS_CORETYPE=";
  std::vector<std::string> entries{name + kernel};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(name)) entries.emplace_back(*entry);
  }
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What a child process prints as the speed of its kernel; none if it cannot be started.
std::optional<double> speed_with(const std::string& kernel) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const Descriptor read_end(ends[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<std::string> arguments{"headscope", kernel_speed_argument},
      environment = environment_with(kernel);
  pid_t child = 0;
  const int failure = posix_spawn(&child, "/proc/self/exe", &actions, nullptr,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
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
