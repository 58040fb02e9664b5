#include "headscope/array.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "headscope/error.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;

TEST(Array, APartIsWhatItsFirstIndexLeaves) {
  Array values({2, 2, 3});
  for (std::size_t i = 0; i < values.size(); ++i) values.values[i] = static_cast<double>(i);
  const Array part = values.part(1);
  EXPECT_THAT(part.shape, ElementsAre(2, 3));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(part(i, j), values(1, i, j));
  }
  EXPECT_THAT(part.part(0).part(2).values, ElementsAre(8)) << "down to a single number";
}

TEST(Array, ASliceOfTheLastAxisIsWhatItsLastIndexLeaves) {
  const Array values({2, 3}, {0, 1, 2, 10, 11, 12});
  EXPECT_THAT(values.at_last(1).shape, ElementsAre(2));
  EXPECT_THAT(values.at_last(1).values, ElementsAre(1, 11));
  EXPECT_THROW(values.at_last(3), ShapeError);
  EXPECT_THROW(Array(Shape{}, 1.0).at_last(0), ShapeError);
}

TEST(Array, IsMappedValueByValue) {
  const Array doubled = Array({1, 2}, {1, 2}).mapped([](double value) { return 2 * value; });
  EXPECT_THAT(doubled.shape, ElementsAre(1, 2));
  EXPECT_THAT(doubled.values, ElementsAre(2, 4));
}

TEST(Array, HasOnlyThePartsOfItsFirstAxis) {
  EXPECT_THROW(Array({2, 3}).part(2), ShapeError);
  EXPECT_THROW(Array({0, 3}).part(0), ShapeError);
  EXPECT_THROW(Array(Shape{}, 1.0).part(0), ShapeError);
}

TEST(Array, AWeightedSumLeavesOutPartsOfWeightZero) {
  const Array values({3, 2}, {1, 2, 10, 20, std::nan(""), 0});
  const Array sum = values.weighted_sum(std::vector<std::uint32_t>{3, 1, 0});
  EXPECT_THAT(sum.shape, ElementsAre(2));
  EXPECT_THAT(sum.values, ElementsAre(13, 26));
  EXPECT_THROW(values.weighted_sum(std::vector<std::uint32_t>{1, 1}), ShapeError);
}

}  // namespace
}  // namespace headscope
