#pragma once

#include "headscope/types.hpp"

namespace headscope {

/// Calls operation(t) for each column, on several threads if the columns are long or many enough to
/// repay waking them.
template <typename Operation>
void for_each_column(Index n_row, Index n_col, const Operation& operation) {
  constexpr Index least_parallel_size = 1 << 16;
#pragma omp parallel for schedule(static) if (n_row * n_col >= least_parallel_size)
  for (Index t = 0; t < n_col; ++t) operation(t);
}

}  // namespace headscope
