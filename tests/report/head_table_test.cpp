#include "report/head_table.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

TEST(HeadTable, HasARowPerHeadWithItsTypesAndAllScores) {
  Results results;
  ResultsGroup group;
  group.name = "control/g";
  group.add_dimension(Dimension::count("layer", 2));
  group.add_dimension(Dimension::count("head", 1));
  group.add_dimension(Dimension::count("offset", 2));
  group.add_dimension(Dimension::labels("type_name", {"sink", "long_range"}));
  group.add_dimension(Dimension::count("relation", 25));
  const auto real = [&](const char* name, std::vector<std::string> axes, Array values) {
    group.add({name, std::move(axes), "1", name}, std::move(values));
  };
  group.add({"rest", "layer head", "1", "rest", headscope_definition, "documents resampled"},
            std::vector<Estimate>{{0.5, 0.25, 0.75}, {std::nan(""), std::nan(""), std::nan("")}});
  real("share", {"offset", "layer", "head"}, Array({2, 2, 1}, {1, 2, 3, 4}));
  real("accuracy", {"relation", "layer", "head"}, Array({25, 2, 1}, 0.5));
  real("nothing", {"layer", "head"}, Array({2, 1}, std::nan("")));
  real("total", {}, Array(Shape{}, 7));
  group.add(Declaration::flag("type", "type_name layer head", {"no", "yes"}, "types"),
            Array({2, 2, 1}, {1, 0, 1, 0}));
  group.add(Declaration::flag("primary", "layer head", {"none", "sink", "long_range"}, "primary"),
            Array({2, 1}, {2, 0}));
  group.add(Declaration::flag("seen", "layer head", {"never", "often"}, "seen"),
            Array({2, 1}, {0, 1}));
  results.groups.push_back(std::move(group));
  const test::TemporaryDirectory folder;
  write_tables(results, folder.path());
  write_head_table(results, folder.path());
  EXPECT_EQ(test::read_file(folder.file("heads.csv")),
            "name,layer,head,primary_type,types,control.g.rest,control.g.rest_ci_low,"
            "control.g.rest_ci_high,control.g.share.offset_0,control.g.share.offset_1,"
            "control.g.seen\n"
            "L0H0,0,0,long_range,sink; long_range,0.5,0.25,0.75,1,3,never\n"
            "L1H0,1,0,none,,NaN,NaN,NaN,2,4,often\n");
  remove_tables(folder.path(), {});
  EXPECT_FALSE(std::filesystem::exists(folder.file("heads.csv")));
}

TEST(HeadTable, GivesARemovedHeadNoValue) {
  Results results;
  results.attributes["pruned_heads"] = std::string("L0H1");
  ResultsGroup group;
  group.name = "g";
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 2));
  group.add_dimension(Dimension::labels("type_name", {"sink"}));
  group.add({"rest", "layer head", "1", "rest", headscope_definition, "documents resampled"},
            std::vector<Estimate>{{0.5, 0.25, 0.75}, {0.5, 0.5, 0.5}});
  group.add(Declaration::flag("type", "type_name layer head", {"no", "yes"}, "types"),
            Array({1, 1, 2}, {1, 0}));
  group.add(Declaration::flag("primary", "layer head", {"none", "sink"}, "primary"),
            Array({1, 2}, {1, 0}));
  group.add(Declaration::flag("seen", "layer head", {"never", "often"}, "seen"),
            Array({1, 2}, {1, 0}));
  results.groups.push_back(std::move(group));
  const test::TemporaryDirectory folder;
  write_head_table(results, folder.path());
  EXPECT_EQ(test::read_file(folder.file("heads.csv")),
            "name,layer,head,primary_type,types,g.rest,g.rest_ci_low,g.rest_ci_high,g.seen\n"
            "L0H0,0,0,sink,sink,0.5,0.25,0.75,often\n"
            "L0H1,0,1,removed,,NaN,NaN,NaN,NaN\n");
}

TEST(HeadTable, IsNotWrittenWithoutHeads) {
  const test::TemporaryDirectory folder;
  write_tables({}, folder.path());
  write_head_table({}, folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder.file("heads.csv")));
  test::write_file(folder.file("heads.csv"), "the user's");
  remove_tables(folder.path(), {});
  EXPECT_EQ(test::read_file(folder.file("heads.csv")), "the user's");
}

}  // namespace
}  // namespace headscope
