#pragma once

#include <optional>
#include <string>

#include "headscope/processor.hpp"

/// Which of OpenBLAS's kernels multiplies matrices.
///
/// OpenBLAS picks its kernel by the processor's model number when it is loaded. One that is newer
/// than the OpenBLAS gets the `Prescott` kernel (SSE3), some six times slower than what it can do.
/// `OPENBLAS_CORETYPE` overrides the choice and is read at that moment alone.
namespace headscope::blas {

/// The kernel to ask OpenBLAS for on a processor for which it took `own` by itself.
/// @return  none where `own` uses vectors as wide as any kernel that is asked for by name would:
///          `SkylakeX` (AVX-512), `Haswell` (AVX2).
std::optional<std::string> better_kernel(const Processor& processor, const std::string& own);

/// The kernel this program runs, `SkylakeX` say.
std::string kernel_in_use();

/// One sentence where the kernel in use has narrower vectors than the processor; else empty.
/// Programs that link the library have to set OPENBLAS_CORETYPE before they start, or call
/// `restart_with_best_settings`.
std::string kernel_warning();

/// Starts this program anew, in the same process and with the same arguments, with
/// OPENBLAS_CORETYPE set, where `better_kernel` names one and the user has not set the variable;
/// also with GOMP_SPINCOUNT set, where neither it nor OMP_WAIT_POLICY is: threads that wait give
/// their core away after some ten microseconds, so that a machine on which others work does not
/// slow a run down many times.
///
/// To be called first in main. It returns, with nothing changed, where there is nothing to set or
/// the program cannot be started again.
void restart_with_best_settings(char** argv);

}  // namespace headscope::blas
