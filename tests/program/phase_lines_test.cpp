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
    PhaseLines lines(interval);
    lines.begin("loading model and corpus");
    std::this_thread::sleep_for(time);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(PhaseLines, ALongPhaseIsNamedMoreThanOnce) {
  EXPECT_THAT(lines_after(400ms, 20ms),
              testing::StartsWith("loading model and corpus, 0 s so far\n"
                                  "loading model and corpus, 0 s so far\n"));
}

TEST(PhaseLines, TheTimeSoFarIsInSeconds) {
  EXPECT_THAT(lines_after(1500ms, 1s),
              testing::StartsWith("loading model and corpus, 1 s so far\n"));
}

TEST(PhaseLines, AShortPhaseIsNotNamedNorWaitedFor) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(lines_after(1ms, 60s), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s) << "waits for its first line";
}

TEST(PhaseLines, RatesHaveTwoSignificantDigits) {
  EXPECT_EQ(rate_text(37'330, 10), "3700 tokens/s");
  EXPECT_EQ(rate_text(118'525, 1), "120000 tokens/s");
  EXPECT_EQ(rate_text(996, 10), "100 tokens/s");
  EXPECT_EQ(rate_text(43, 100), "0.43 tokens/s");
  EXPECT_EQ(rate_text(1, 250), "0.004 tokens/s");
  EXPECT_EQ(rate_text(102, 100), "1 token/s");
}

TEST(PhaseLines, ThereIsNoRateBeforeAnythingIsDone) {
  EXPECT_EQ(rate_text(0, 10), "");
  EXPECT_EQ(rate_text(10, 0), "");
}

TEST(PhaseLines, TheTimeIsThatOfThePhase) {
  testing::internal::CaptureStderr();
  {
    PhaseLines lines(2s);
    for (int i = 0; i < 8; ++i) {
      lines.begin("item " + std::to_string(i));
      std::this_thread::sleep_for(300ms);
    }
    lines.end();
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace headscope
