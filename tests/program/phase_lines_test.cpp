#include "phase_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace headscope {
namespace {

using namespace std::chrono_literals;

std::string lines_after(std::chrono::milliseconds time, std::chrono::milliseconds interval) {
  testing::internal::CaptureStderr();
  {
    const PhaseLines lines("loading model and corpus", interval);
    std::this_thread::sleep_for(time);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(PhaseLines, ALongPhaseIsNamed) {
  EXPECT_THAT(lines_after(300ms, 20ms),
              testing::StartsWith("loading model and corpus, 0 s so far\n"
                                  "loading model and corpus, 0 s so far\n"));
}

TEST(PhaseLines, TheTimeSoFarIsInSeconds) {
  EXPECT_THAT(lines_after(1500ms, 1s), testing::Eq("loading model and corpus, 1 s so far\n"));
}

TEST(PhaseLines, AShortPhaseIsNot) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(lines_after(1ms, 60s), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s) << "waits for its first line";
}

}  // namespace
}  // namespace headscope
