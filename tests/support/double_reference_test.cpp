#include "support/double_reference.hpp"

#include <gtest/gtest.h>

namespace headscope::test {
namespace {

TEST(RelativeError, IsInfiniteUnlessAllValuesAreFinite) {
  const arma::mat reference{{1, -4}, {2, 0}};
  EXPECT_EQ(relative_error(Matrix{{1, -4}, {2, 1}}, reference), 0.25);
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY)}) {
    for (arma::uword i = 0; i < reference.n_elem; ++i) {
      arma::mat changed = reference;
      changed(i) = bad;
      EXPECT_EQ(relative_error(arma::conv_to<Matrix>::from(changed), reference), INFINITY);
      EXPECT_EQ(relative_error(Matrix{{1, -4}, {2, 0}}, changed), INFINITY);
    }
  }
}

TEST(LargestSize, IsInfiniteUnlessAllValuesAreFinite) {
  EXPECT_EQ(largest_size(arma::mat{{1, -4}, {2, 0}}), 4);
  EXPECT_EQ(largest_size(arma::mat{{1, -4}, {std::nan(""), 0}}), INFINITY);
}

}  // namespace
}  // namespace headscope::test
