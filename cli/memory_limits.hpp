#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headscope/run_memory.hpp"

namespace headscope {

/// @param what_helps  ends the message.
/// @throws UsageError naming the parts if their sum is more than `limit` bytes, that of --memory.
void check_memory(const std::vector<MemoryPart>& parts, std::uint64_t limit,
                  const std::string& what_helps);

/// Bytes of memory that the machine has and the control group allows; the largest number if the
/// system does not say.
std::uint64_t available_memory();

/// A warning for a run that needs more than `available` bytes; empty if it needs less.
/// @param what_helps  ends the message.
std::string memory_warning(const std::vector<MemoryPart>& parts, std::uint64_t available,
                           const std::string& what_helps);

/// Refuses a run that may exceed the limit of the address space (ulimit -v): OpenBLAS would ask
/// for memory for ever.
/// @param bytes  needed, without the buffers and stacks of threads.
/// @throws UsageError
void check_address_space(std::uint64_t bytes);

/// As `check_address_space`, for the trial of engines beside `bytes` in use.
void check_trial_memory(std::uint64_t bytes = 0);

}  // namespace headscope
