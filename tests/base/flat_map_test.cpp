#include "base/flat_map.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "headscope/random.hpp"

namespace headscope {
namespace {

struct Number {
  std::uint64_t value;
  bool operator==(const Number&) const = default;
  std::uint64_t hash() const { return value * 0x9E3779B97F4A7C15U; }
};

/// All keys fall into the last slot, so that look-ups go round to the first.
struct Colliding {
  std::uint64_t value;
  bool operator==(const Colliding&) const = default;
  std::uint64_t hash() const { return ~std::uint64_t{0}; }
};

template <typename Key>
void expect_as_a_map(std::uint64_t n) {
  FlatMap<Key, std::uint64_t> flat(Key{0});
  std::map<std::uint64_t, std::uint64_t> map;
  const CounterRandom random(1);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t key = 1 + random.value(i) % n;
    flat.insert_or_assign({key}, i);
    map.insert_or_assign(key, i);
  }
  for (std::uint64_t key = 1; key <= n; ++key) {
    const std::uint64_t* const found = flat.find({key});
    ASSERT_EQ(found != nullptr, map.contains(key)) << key;
    if (found != nullptr) {
      EXPECT_EQ(*found, map.at(key));
    }
  }
}

TEST(FlatMap, HoldsTheLastValueOfEachKey) {
  expect_as_a_map<Number>(10'000);
}

TEST(FlatMap, HoldsKeysThatCollide) {
  expect_as_a_map<Colliding>(200);
}

TEST(FlatMap, HoldsNothingAtFirst) {
  EXPECT_EQ((FlatMap<Number, int>({0}).find({7})), nullptr);
}

}  // namespace
}  // namespace headscope
