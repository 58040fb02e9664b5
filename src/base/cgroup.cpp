#include "base/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

namespace headscope {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// A number in units of another, as `200000` and `100000` microseconds; `max` or -1 for no limit.
std::optional<double> quota(const std::string& number, const std::string& unit) {
  try {
    const double share = std::stod(number) / std::stod(unit);
    if (share > 0) return share;
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

std::optional<double> processors_of(const fs::path& group) {
  const std::string both = first_line(group / "cpu.max");
  if (!both.empty()) return quota(both, both.substr(std::min(both.find(' '), both.size())));
  return quota(first_line(group / "cpu.cfs_quota_us"), first_line(group / "cpu.cfs_period_us"));
}

std::optional<double> memory_of(const fs::path& group) {
  const std::string bytes = first_line(group / "memory.max");
  return quota(bytes.empty() ? first_line(group / "memory.limit_in_bytes") : bytes, "1");
}

/// @param limit_of  a limit that a group sets itself.
/// @return the least of the process's group and those above it.
std::optional<double> least_limit(
    const fs::path& process, const fs::path& mount, const std::string& controller,
    const std::function<std::optional<double>(const fs::path&)>& limit_of) {
  std::optional<double> least;
  std::ifstream memberships(process / "cgroup");
  // `0::/user.slice/run` of version 2, `4:cpu,cpuacct:/user.slice` of version 1.
  for (std::string line; std::getline(memberships, line);) {
    const std::size_t name = line.find(':') + 1, path = line.find(':', name) + 1;
    if (name == 0 || path == 0) continue;
    const std::string controllers = line.substr(name, path - 1 - name);
    if (!controllers.empty() && ("," + controllers + ",").find("," + controller + ",") == line.npos)
      continue;
    const fs::path top = controllers.empty() ? mount : mount / controllers;
    fs::path group = fs::path(line.substr(path)).relative_path();
    for (;; group = group.parent_path()) {
      const std::optional<double> limit = limit_of(top / group);
      if (limit) least = std::min(least.value_or(*limit), *limit);
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace

std::optional<double> cgroup_processors(const fs::path& process, const fs::path& mount) {
  return least_limit(process, mount, "cpu", processors_of);
}

std::optional<double> cgroup_memory(const fs::path& process, const fs::path& mount) {
  return least_limit(process, mount, "memory", memory_of);
}

}  // namespace headscope
