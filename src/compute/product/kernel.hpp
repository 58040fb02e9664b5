#pragma once

#include <optional>
#include <set>
#include <string>

#include "headscope/precision.hpp"
#include "headscope/processor.hpp"

/// The choice of OpenBLAS's matrix-product kernel.
///
/// OpenBLAS picks its kernel from the processor's model number when the library is loaded. A
/// processor newer than the OpenBLAS release gets the `Prescott` kernel (SSE3), about six times
/// slower than its best one. `OPENBLAS_CORETYPE` overrides the choice and is read only at load
/// time.
namespace headscope::blas {

/// The kernel to request on a processor for which OpenBLAS chose `current`.
/// @return  `SkylakeX` (AVX-512) or `Haswell` (AVX2); none if `current` already uses vectors as
/// wide.
std::optional<std::string> better_kernel(const Processor& processor, const std::string& current);

/// The kernel in use, for example `SkylakeX`.
std::string kernel_in_use();

/// What the rounding of float32 sums depends on besides the inputs and options: OpenBLAS's version
/// and kernel, the widest vectors of this library's own loops, the engines used besides OpenBLAS,
/// and the number of threads: `OpenBLAS 0.3.21 SkylakeX, AVX-512, bfloat16 x 6, 2 threads`.
std::string arithmetic_in_use(const std::set<Engine>& engines);

/// Floating-point operations per second of OpenBLAS's products on one thread, by the processor
/// time that they take: the best of a few tens of milliseconds.
double sgemm_speed();

/// A one-sentence warning that the kernel in use is slower than another. A program that links the
/// library cannot change the kernel: OPENBLAS_CORETYPE must be set before the program starts.
/// @param better  the kernel to request (better_kernel).
/// @param ratio   its speed in a trial, as a multiple of that of the kernel in use; none if there
///                was no trial.
/// @return        empty if the trial found the other kernel less than a tenth faster.
std::string kernel_warning(const std::string& better, std::optional<double> ratio);

}  // namespace headscope::blas
