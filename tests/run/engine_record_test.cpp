#include "run/engine_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "headscope/error.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

EngineRecord sample_record(double speed) {
  return {.request = {{"model SHA-256", "ab"}, {"--precision", "high"}, {"--engine", "trial"}},
          .processor = "a \"processor\"",
          .n_thread = 2,
          .speeds = {{Engine::int16, speed}},
          .engines = {Engine::float32, Engine::int16, Engine::bfloat16_three, Engine::float32,
                      Engine::int16}};
}

TEST(EngineRecord, IsReadBack) {
  const test::TemporaryDirectory folder;
  EXPECT_FALSE(read_engine_record(folder.path()));
  const EngineRecord written = sample_record(1.75);
  write_engine_record(folder.file("new/run"), written);
  const EngineRecord read = read_engine_record(folder.file("new/run")).value();
  EXPECT_EQ(read.request, written.request);
  EXPECT_EQ(read.processor, written.processor);
  EXPECT_EQ(read.n_thread, 2);
  EXPECT_EQ(read.engines, written.engines);
  ASSERT_EQ(read.speeds.size(), 1U);
  EXPECT_EQ(read.speeds[0].engine, Engine::int16);
  EXPECT_EQ(read.speeds[0].times_float32, 1.75);
  EXPECT_EQ(engines_from_json(engines_json(read.engines), "x"), written.engines);
}

TEST(EngineRecord, IsTheFirstOfManyWritersAtOnce) {
  const test::TemporaryDirectory folder;
  constexpr int n_writer = 16;
  std::vector<double> seen(n_writer);
  std::vector<std::thread> writers;
  for (int i = 0; i < n_writer; ++i) {
    writers.emplace_back([&, i] {
      seen[static_cast<std::size_t>(i)] =
          keep_first_engine_record(folder.path(), sample_record(1 + i)).speeds[0].times_float32;
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(std::set<double>(seen.begin(), seen.end()).size(), 1U);
  EXPECT_EQ(read_engine_record(folder.path())->speeds[0].times_float32, seen[0]);
}

TEST(EngineRecord, DamageIsNamed) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("engines.json");
  const auto error = [&](const std::string& text) {
    test::write_file(path, text);
    return test::message_of([&] { read_engine_record(folder.path()); });
  };
  const std::string other = path + ": expected the engines of a run, got other text";
  EXPECT_EQ(error(""), other);
  EXPECT_EQ(error("{"), other);
  EXPECT_EQ(error("[1]"), other);
  EXPECT_EQ(error(R"({"request": 3})"), other);
  EXPECT_EQ(error(R"({"request": {}, "processor": "", "threads": 1, "times_float32_speed": {},
                      "engines": {"passes": "float64"}})"),
            path + ": names an engine that this version does not have");
}

}  // namespace
}  // namespace headscope
