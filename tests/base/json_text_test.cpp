#include "base/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headscope {
namespace {

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonText, ReadsWhatIsWellFormed) {
  EXPECT_EQ(parse_json(R"({"a": [1, {"b": null}], "c": {"a": "x"}})")["c"]["a"], "x");
  EXPECT_EQ(parse_json(R"([{"a": 1}, {"a": 2}])").size(), 2U);
}

TEST(JsonText, RefusesWhatNestsTooDeep) {
  EXPECT_FALSE(parse_json(nested(32)).is_discarded());
  EXPECT_TRUE(parse_json(nested(33)).is_discarded());
  EXPECT_TRUE(parse_json(nested(1'000'000)).is_discarded());
  EXPECT_TRUE(parse_json("{\"a\": " + nested(1'000'000) + "}").is_discarded());
}

TEST(JsonText, RefusesAKeyGivenTwiceInOneObject) {
  EXPECT_TRUE(parse_json(R"({"a": 1, "a": 2})").is_discarded());
  EXPECT_TRUE(parse_json(R"({"a": 1, "b": {"a": 1}, "a": 2})").is_discarded());
  EXPECT_TRUE(parse_json(R"([{"b": {"a": 1, "\u0061": 1}}])").is_discarded());
}

TEST(JsonText, RefusesWhatIsMalformed) {
  for (const char* const text : {"", "{", "{\"a\":}", "[1] 2", "\"\xff\"", "nul"}) {
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace headscope
