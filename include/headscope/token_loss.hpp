#pragma once

#include <vector>

namespace headscope {

/// Losses of predictions of a document or batch.
struct TokenLoss {
  std::vector<double> nll;             ///< nats; a document: tokens 1 .. T-1
  std::vector<unsigned char> correct;  ///< 1 where the most probable token was the right one; the
                                       ///< lowest id wins ties

  double sum() const;
};

}  // namespace headscope
