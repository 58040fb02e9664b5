#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/run_memory.hpp"

namespace headscope {

/// @throws UsageError naming the parts if their sum is more than `limit` bytes.
void check_memory(const std::vector<MemoryPart>& parts, std::uint64_t limit);

/// OpenBLAS tries for ever to get memory that the system refuses it. A run that may reach the limit
/// of its address space is therefore refused.
/// @throws UsageError
void check_address_space(std::uint64_t bytes);

/// Reads a size such as `900M` or `8G` (powers of 1024); nullopt for other text.
std::optional<std::uint64_t> parse_memory(const std::string& text);
/// `8.25 GiB`, `310 MiB`.
std::string memory_text(std::uint64_t bytes);

}  // namespace headscope
