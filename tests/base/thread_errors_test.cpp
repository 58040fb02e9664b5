#include "base/thread_errors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace headscope {
namespace {

TEST(ForEachInParallel, CallsTheBodyOnceForEach) {
  std::vector<int> calls(1000);
  for_each_in_parallel(calls.size(), [&](std::size_t i) { ++calls[i]; });
  EXPECT_EQ(calls, std::vector<int>(1000, 1));
  for_each_in_parallel(0, [](std::size_t) { FAIL(); });
}

TEST(ForEachInParallel, GivesEachWorkerItsOwnScratch) {
  struct Scratch {
    int value = 7;
    std::atomic_flag in_use = {};
    Scratch() = default;
    Scratch(const Scratch& other) : value(other.value) {}
  };
  std::atomic<int> n_call = 0;
  for_each_in_parallel(1000, Scratch(), [&](std::size_t, Scratch& scratch) {
    EXPECT_FALSE(scratch.in_use.test_and_set());
    EXPECT_GE(scratch.value++, 7);
    std::this_thread::yield();
    ++n_call;
    scratch.in_use.clear();
  });
  EXPECT_EQ(n_call, 1000);
}

TEST(ForEachInParallel, ThrowsWhatABodyThrowsAndBeginsNoOtherCall) {
  std::atomic<std::size_t> n_call = 0;
  const auto body = [&](std::size_t) {
    ++n_call;
    throw std::length_error("of a body");
  };
  EXPECT_THROW(
      {
        try {
          for_each_in_parallel(100, body);
        } catch (const std::length_error& error) {
          EXPECT_STREQ(error.what(), "of a body");
          throw;
        }
      },
      std::length_error);
  EXPECT_LE(n_call, static_cast<std::size_t>(omp_get_max_threads()));
}

}  // namespace
}  // namespace headscope
