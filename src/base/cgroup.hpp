#pragma once

#include <filesystem>
#include <optional>

namespace headscope {

/// The processors' worth of time that this process's control group allows, from version 2's
/// `cpu.max` or version 1's `cpu.cfs_quota_us`; the least of the group and those above it. None if
/// there is no limit.
/// @param process  the folder of the process's own files.
/// @param mount    where control groups are mounted.
std::optional<double> cgroup_processors(const std::filesystem::path& process = "/proc/self",
                                        const std::filesystem::path& mount = "/sys/fs/cgroup");
/// The bytes of memory that it allows, from `memory.max` or `memory.limit_in_bytes`, likewise.
std::optional<double> cgroup_memory(const std::filesystem::path& process = "/proc/self",
                                    const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace headscope
