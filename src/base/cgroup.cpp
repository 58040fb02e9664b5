#include "base/cgroup.hpp"

#include <algorithm>
#include <fstream>
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

// `200000 100000`: microseconds of each period; `max` or -1 for no limit.
std::optional<double> quota(const std::string& time, const std::string& period) {
  try {
    const double share = std::stod(time) / std::stod(period);
    if (share > 0) return share;
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

std::optional<double> quota_of(const fs::path& group) {
  const std::string both = first_line(group / "cpu.max");
  if (!both.empty()) return quota(both, both.substr(std::min(both.find(' '), both.size())));
  return quota(first_line(group / "cpu.cfs_quota_us"), first_line(group / "cpu.cfs_period_us"));
}

}  // namespace

std::optional<double> cgroup_processors(const fs::path& process, const fs::path& mount) {
  std::optional<double> least;
  std::ifstream memberships(process / "cgroup");
  // `0::/user.slice/run` of version 2, `4:cpu,cpuacct:/user.slice` of version 1.
  for (std::string line; std::getline(memberships, line);) {
    const std::size_t name = line.find(':') + 1, path = line.find(':', name) + 1;
    if (name == 0 || path == 0) continue;
    const std::string controllers = line.substr(name, path - 1 - name);
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == line.npos) continue;
    const fs::path top = controllers.empty() ? mount : mount / controllers;
    fs::path group = fs::path(line.substr(path)).relative_path();
    for (;; group = group.parent_path()) {
      const std::optional<double> quota = quota_of(top / group);
      if (quota) least = std::min(least.value_or(*quota), *quota);
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace headscope
