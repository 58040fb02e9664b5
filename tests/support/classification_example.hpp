#pragma once

#include "headscope/types.hpp"

namespace headscope {

/// Attention pattern of five tokens, worked on paper; query by row, key by column:
///
///   1
///   1/2  1/2
///   1/2  1/4  1/4
///   1/4  1/2  1/8  1/8
///   0    0    0    1    0
inline Matrix example_pattern() {
  const Matrix by_query{{1, 0, 0, 0, 0},
                        {0.5f, 0.5f, 0, 0, 0},
                        {0.5f, 0.25f, 0.25f, 0, 0},
                        {0.25f, 0.5f, 0.125f, 0.125f, 0},
                        {0, 0, 0, 1, 0}};
  return by_query.t();
}

}  // namespace headscope
