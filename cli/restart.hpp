#pragma once

namespace headscope {

/// Restarts this program in the same process, with the same arguments and better settings.
///
/// Environment variables:
/// - OPENBLAS_CORETYPE, if `blas::better_kernel` names a kernel and the user has not set the
/// variable;
/// - GOMP_SPINCOUNT, if neither it nor OMP_WAIT_POLICY is set. Waiting threads then give up their
///   core after about ten microseconds; otherwise other work on the machine can slow a run down
///   many times;
/// - OPENBLAS_NUM_THREADS to 1, because the library's own threads call OpenBLAS;
/// - OMP_STACKSIZE to 8M.
///
/// The limit of the main thread's stack is raised to 8 MiB, if it is lower and may be raised.
///
/// Call it first in main. It returns without any change if there is nothing to set or the program
/// cannot be restarted.
void restart_with_best_settings(char** argv);

/// @throws Error  if the main thread's stack is limited to less than the library's loops need.
void check_stack_limit();

}  // namespace headscope
