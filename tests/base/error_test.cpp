#include "headscope/error.hpp"

#include <gtest/gtest.h>

namespace headscope {
namespace {

TEST(Error, IsOneLineOfPrintableUtf8WhateverAFileCallsThings) {
  EXPECT_STREQ(DataError("a\nb.h5", "\x1b[31m\xff", "expected \"x\ty\"").what(),
               "a b.h5: [31m\uFFFD: expected \"x y\"");
  EXPECT_STREQ(ShapeError("größer").what(), "größer");
  EXPECT_STREQ(ShapeError("a\u0085b\u2028c\u00A0").what(), "a b c\u00A0");
  EXPECT_STREQ(OptionError("--seed", "got \"\r\n\"").what(), "--seed: got \"  \"");
}

}  // namespace
}  // namespace headscope
