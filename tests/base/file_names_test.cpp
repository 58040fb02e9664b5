#include "base/file_names.hpp"

#include <gtest/gtest.h>

namespace headscope {
namespace {

TEST(FileNames, AreUniqueAndKeepLettersOfAnyScript) {
  EXPECT_EQ(file_names({"时态", "性别", "a b", "a_b", "A b", "é/ü", "a_b_2"}),
            (std::vector<std::string>{"时态", "性别", "a_b", "a_b_2", "A_b_3", "é_ü", "a_b_2_2"}));
}

TEST(FileNames, AreShortAndNoPathsOrOptions) {
  EXPECT_EQ(file_name("../../etc"), "_._.._etc");
  EXPECT_EQ(file_name("-o x\n\"$(y)\u202E"), "_o_x____y__");
  EXPECT_EQ(file_name("\xFF\0"), "_");
  const std::string name = file_name(std::string(79, 'x') + "时态");
  EXPECT_EQ(name, std::string(79, 'x'));
  const std::vector<std::string> names =
      file_names({std::string(300, 'x') + "a", std::string(300, 'x') + "b"});
  EXPECT_EQ(names[1], names[0] + "_2");
  EXPECT_LT(names[1].size(), 100U);
}

}  // namespace
}  // namespace headscope
