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

TEST(JsonText, SaysWhyATextIsRefused) {
  EXPECT_EQ(json_fault(R"({"a": "\ud83d\ude00"})"), "");
  EXPECT_EQ(json_fault(R"({"a": {"b": 1}, "\u0061": 2})"), "the key \"a\" twice");
  for (const char* const half : {R"(["\ud83d"])", R"(["\ude00"])", R"({"\ud83dx": 1})"}) {
    EXPECT_EQ(json_fault(half), "a lone surrogate, half of a character") << half;
  }
  EXPECT_EQ(json_fault(nested(33)), "more than 32 levels");
  EXPECT_EQ(json_fault("{\"a\": "), "unfinished or other text");
}

}  // namespace
}  // namespace headscope
