#include "headscope/results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "files/hdf5_call.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "results/long_table.hpp"
#include "results/results_claims.hpp"
#include "support/message_of.hpp"
#include "support/results_sample.hpp"
#include "support/same_results.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

Variable reals(const std::string& name, const std::vector<std::string>& dimensions, Array values) {
  Variable variable;
  variable.name = name;
  variable.dimensions = dimensions;
  variable.values = std::move(values);
  variable.long_name = "Definition of " + name;
  variable.units = "1";
  variable.references = headscope_definition;
  return variable;
}

ResultsGroup small_group() {
  ResultsGroup group;
  group.name = "g";
  group.add_dimension(Dimension::count("layer", 2));
  group.add_dimension(Dimension::labels("kind", {"q", "k, v"}));
  return group;
}

TEST(Results, RoundTripIsExact) {
  const test::TemporaryDirectory folder;
  Results written = test::results_sample();
  write_results(written, folder.file("results.h5"));
  const Results read = read_results(folder.file("results.h5"));
  // Files hold claims in order of their numbers.
  for (ResultsGroup& group : written.groups) {
    std::ranges::stable_sort(group.claims, {}, &Claim::number);
  }
  EXPECT_EQ(read.attributes, written.attributes);
  EXPECT_EQ(test::first_difference(read, written), "");
}

TEST(Results, KeepTheFirstResamplesOfEveryEstimate) {
  const test::TemporaryDirectory folder;
  std::vector<Estimate> estimates;
  for (const double first : {0.5, 1.5}) {
    std::vector<double> samples(n_kept_resample + 1, first);
    samples[1] = 9;
    estimates.push_back(percentile_estimate(1, samples));
  }
  ResultsGroup group = small_group();
  const std::size_t n_kind = group.dimensions.at("kind").size();
  ASSERT_EQ(n_kind, estimates.size());
  const auto add = [&](const char* name) {
    group.add({name, "kind", "1", "l", "s", "documents resampled"}, estimates);
  };
  add("kept");
  estimates[1] = {};
  add("missing");
  estimates[1] = percentile_estimate(1, {1, 2});
  add("uneven");
  Results results;
  results.groups = {group};
  write_results(results, folder.file("results.h5"));
  const ResultsGroup read = read_results(folder.file("results.h5")).group("g");
  const Array& kept = read.variable("kept").interval->resamples;
  EXPECT_EQ(kept.shape, (Shape{n_kept_resample, n_kind}));
  EXPECT_EQ(kept(0, 0), 0.5);
  EXPECT_EQ(kept(1, 0), 9);
  EXPECT_EQ(kept(2, 1), 1.5);
  EXPECT_TRUE(std::isnan(read.variable("missing").interval->resamples(0, 1)));
  EXPECT_EQ(read.variable("uneven").interval->resamples.size(), 0U);
  EXPECT_EQ(read.variable("kept").kept_estimate(0).resamples[1], 9);
  EXPECT_TRUE(read.variable("missing").kept_estimate(1).resamples.empty());
}

TEST(Results, KeepNoInfluencesOfMorePartsThanThereAre) {
  const Declaration declared{"shared", {}, "1", "l", "s", "pairs resampled"};
  for (const std::size_t n_part : {n_document_block, n_document_block + 1}) {
    const Estimate estimate{
        .value = 1, .low = 0, .high = 2, .influences = std::vector<float>(n_part, 1)};
    EXPECT_EQ(declared.of(Shape{}, {estimate}).interval->influences.size(),
              n_part > n_document_block ? 0 : n_part);
  }
}

TEST(Results, RefuseReplicatesWithoutAnAxis) {
  ResultsGroup group = small_group();
  Variable variable = Declaration{"shared", "kind", "1", "l", "s", "pairs resampled"}.of(
      Shape{2}, std::vector<Estimate>(2, {.value = 1, .low = 0, .high = 2}));
  variable.interval->influences = Array(Shape{}, 1);
  EXPECT_THROW(group.add(variable), ShapeError);
  variable.interval->influences = Array({n_document_block}, 1);
  EXPECT_THROW(group.add(variable), ShapeError);
}

TEST(Results, KeepTheInfluencesOfEveryEstimate) {
  const test::TemporaryDirectory folder;
  ResultsGroup group = small_group();
  group.add({"shared", "kind", "1", "l", "s", "pairs resampled"},
            {{.value = 1, .low = 0, .high = 2, .influences = {1, 2.5}},
             {.value = 1, .low = 0, .high = 2, .influences = {3, 4, 5}}});
  group.add({"lacking", "kind", "1", "l", "s", "pairs resampled"},
            {{.value = 1, .low = 0, .high = 2, .influences = {1, 2}},
             {.value = 1, .low = 0, .high = 2, .resamples = {0.5, NAN, 1.5}}});
  Results results;
  results.groups = {group};
  write_results(results, folder.file("results.h5"));
  const ResultsGroup read = read_results(folder.file("results.h5")).group("g");
  const Variable &shared = read.variable("shared"), &lacking = read.variable("lacking");
  EXPECT_EQ(shared.interval->influences.shape, (Shape{n_document_block, 2}));
  EXPECT_EQ(read.dimension("part").size(), n_document_block);
  EXPECT_THAT(shared.kept_estimate(0).influences, testing::ElementsAre(1, 2.5));
  EXPECT_THAT(shared.kept_estimate(1).influences, testing::ElementsAre(3, 4, 5));
  EXPECT_THAT(lacking.kept_estimate(0).influences, testing::ElementsAre(1, 2));
  EXPECT_TRUE(lacking.kept_estimate(0).resamples.empty());
  EXPECT_TRUE(lacking.kept_estimate(1).influences.empty());
  EXPECT_THAT(lacking.kept_estimate(1).resamples, testing::ElementsAre(0.5, testing::IsNan(), 1.5));
}

TEST(Results, EmptyResultsRoundTrip) {
  const test::TemporaryDirectory folder;
  write_results({}, folder.file("results.h5"));
  const Results read = read_results(folder.file("results.h5"));
  EXPECT_TRUE(read.groups.empty());
  EXPECT_TRUE(read.attributes.empty());
}

TEST(Results, TextThatIsNotUtf8IsMadeSo) {
  const test::TemporaryDirectory folder;
  Results results;
  ResultsGroup group = small_group();
  Variable words = reals("word", {"kind"}, {});
  words.type = Variable::Type::text;
  words.text = {"\xc3 half a letter", std::string("a\0b", 3)};
  group.add(words);
  results.groups = {group};
  write_results(results, folder.file("results.h5"));
  EXPECT_THAT(read_results(folder.file("results.h5")).group("g").variable("word").text,
              ElementsAre("\uFFFD half a letter", "a\uFFFDb"));
}

TEST(Results, RefusesOtherFiles) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("other.h5");
  {
    hdf5::OutputFile file(path);
    file.create_group("pruning");
    file.publish();
  }
  EXPECT_EQ(message_of([&] { read_results(path); }),
            path +
                ": expected a results file (format \"headscope results 3\"), found another "
                "HDF5 file");
  EXPECT_THAT(message_of([&] { read_results(folder.file("none.h5")); }), HasSubstr("none.h5"));
}

TEST(Results, AFileOfAnotherLayoutIsToBeMadeAgain) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("results.h5");
  {
    hdf5::OutputFile file(path);
    file.set_attribute("", "format", std::string("headscope results 1"));
    file.publish();
  }
  EXPECT_EQ(message_of([&] { read_results(path); }),
            path +
                ":format: expected \"headscope results 3\", got \"headscope results 1\" of an "
                "earlier version of Headscope; run again to make a new one");
}

TEST(Results, NamesWhatIsMissingInAFile) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("results.h5");
  {
    hdf5::OutputFile file(path);
    file.set_attribute("", "format", std::string("headscope results 3"));
    file.set_attribute("", "groups", std::vector<std::string>{"pruning"});
    file.create_group("pruning");
    file.set_attribute("pruning", "title", std::string("t"));
    file.publish();
  }
  EXPECT_EQ(message_of([&] { read_results(path); }), path + ":pruning@summary: no such attribute");
}

TEST(Results, NamesTheKindOfAnAttributeThatIsNotText) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("results.h5");
  const auto error_with = [&](const hdf5::Attribute& title) {
    hdf5::OutputFile file(path);
    file.set_attribute("", "format", std::string("headscope results 3"));
    file.set_attribute("", "groups", std::vector<std::string>{"pruning"});
    file.create_group("pruning");
    file.set_attribute("pruning", "title", title);
    file.publish();
    return message_of([&] { read_results(path); });
  };
  const std::string expected = path + ":pruning@title: expected text, got ";
  EXPECT_EQ(error_with(std::int64_t{3}), expected + "a whole number");
  EXPECT_EQ(error_with(0.5), expected + "a number");
  EXPECT_EQ(error_with(std::vector<std::string>{"a", "b"}), expected + "a list of texts");
}

// The error of reading a results file after HDF5 has made `change` in it.
std::string error_after(const std::function<void(hid_t)>& change) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("results.h5");
  write_results(test::results_sample(), path);
  {
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    change(file);
  }
  return message_of([&] { read_results(path); });
}

void overwrite(hid_t file, const char* name, std::int64_t value) {
  const hdf5::Handle dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
  const std::vector<std::int64_t> values(4, value);
  H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

TEST(Results, AClaimsNumberAndVerdictAreOfThoseThereAre) {
  EXPECT_THAT(error_after([](hid_t file) { overwrite(file, "claims/number", 1LL << 40); }),
              HasSubstr("claims: number: expected a whole number from 0 to 2147483647, got"));
  EXPECT_THAT(error_after([](hid_t file) {
                H5Adelete_by_name(file, "claims/verdict", "flag_meanings", H5P_DEFAULT);
                overwrite(file, "claims/verdict", 7);
              }),
              HasSubstr("claims: verdict: expected a whole number from 0 to 2, got 7"));
}

TEST(Results, EveryClaimHasAllItsParts) {
  EXPECT_THAT(error_after([](hid_t file) {
                H5Ldelete(file, "claims/statement", H5P_DEFAULT);
                H5Ocopy(file, "claims/effect", file, "claims/statement", H5P_DEFAULT, H5P_DEFAULT);
              }),
              HasSubstr("claims: results claims: expected text in statement, got numbers"));
}

TEST(Results, BothBoundsOfAnIntervalAreInTheFile) {
  EXPECT_THAT(error_after([](hid_t file) {
                H5Ldelete(file, "pruning/loss_increase_ci_high", H5P_DEFAULT);
              }),
              HasSubstr("pruning/loss_increase_ci_high: no such dataset"));
  EXPECT_THAT(error_after([](hid_t file) {
                H5Ldelete(file, "pruning/loss_increase_ci_low", H5P_DEFAULT);
                H5Ocopy(file, "pruning/saving", file, "pruning/loss_increase_ci_low", H5P_DEFAULT,
                        H5P_DEFAULT);
              }),
              HasSubstr("pruning/loss_increase: results pruning variable loss_increase: expected "
                        "shape [2, 2, 3], got [4]"));
}

TEST(Results, ALinkIsNoSecondDataset) {
  EXPECT_THAT(error_after([](hid_t file) {
                H5Ldelete(file, "pruning/saving", H5P_DEFAULT);
                H5Lcreate_soft("/pruning/loss_increase", file, "pruning/saving", H5P_DEFAULT,
                               H5P_DEFAULT);
              }),
              HasSubstr("pruning/saving: no such dataset"));
}

TEST(ResultsGroup, ChecksWhatIsAdded) {
  ResultsGroup group = small_group();
  EXPECT_EQ(message_of([&] { group.add(reals("v", {"head"}, Array({2}))); }),
            "results g variable v: expected a known dimension, got head");
  EXPECT_EQ(message_of([&] {
              group.add(reals("v", {"layer", "kind"}, Array({2, 3})));
            }),
            "results g variable v: expected shape [2, 2], got [2, 3]");
  EXPECT_EQ(message_of([&] { group.add_dimension(Dimension::count("layer", 3)); }),
            "results g dimension layer: expected 2, got 3");
  EXPECT_EQ(message_of([&] {
              group.add_dimension(Dimension::numbers("layer", {1, 2}));
            }),
            "results g dimension layer: expected the labels it has, got others");
  group.add_dimension(Dimension::count("layer", 2));
  group.add(reals("v", {"layer"}, Array({2})));
  EXPECT_EQ(message_of([&] { group.add(reals("v", {"layer"}, Array({2}))); }),
            "results g variable v: expected a new name, got one that is taken");
  Variable flag = reals("f", {"layer"}, Array({2}, {0, 2}));
  flag.type = Variable::Type::flag;
  flag.flag_meanings = {"no", "yes, of course"};
  EXPECT_EQ(message_of([&] { group.add(flag); }),
            "results g variable f: expected flags below 2, got 2");
  flag.values.values[1] = 1;
  group.add(flag);
  EXPECT_THAT(group.variable("f").flag_meanings, ElementsAre("no", "yes,_of_course"));
  Variable integer = reals("i", {"layer"}, Array({2}, {0, 0.5}));
  integer.type = Variable::Type::integer;
  EXPECT_THROW(group.add(integer), ShapeError);
  Variable undescribed = reals("u", {"layer"}, Array({2}));
  for (std::string Variable::*text :
       {&Variable::references, &Variable::units, &Variable::long_name}) {
    undescribed.*text = "";
    EXPECT_THROW(group.add(undescribed), ShapeError);
  }
  EXPECT_EQ(message_of([&] { group.add(undescribed); }),
            "results g variable u: expected long_name, got none");
  Variable estimated = reals("v", {"kind"}, Array({2}));
  estimated.interval = {Array({2}), Array({3})};
  estimated.resampling = "documents resampled";
  EXPECT_EQ(message_of([&] { group.add(estimated); }),
            "results g variable v: expected a new name, got one that is taken");
  estimated.name = "e";
  EXPECT_EQ(message_of([&] { group.add(estimated); }),
            "results g variable e: expected shape [2], got [3]");
  estimated.interval->high = Array({2});
  group.add(estimated);
  EXPECT_EQ(message_of([&] { group.add(reals("e_ci_low", {}, Array(Shape{}))); }),
            "results g variable e_ci_low: expected a new name, got one that is taken");
  EXPECT_EQ(message_of([&] { group.variable("w"); }),
            "results g: expected a variable w, found none");
  const Results results;
  EXPECT_EQ(message_of([&] { results.group("h"); }), "results: expected a group h, found none");
}

TEST(ResultsGroup, TakesValuesFromItems) {
  struct Task {
    std::size_t n_pair;
    std::vector<double> by_head;
    std::string relation;
  };
  const std::vector<Task> tasks{{3, {1, 2}, "nsubj"}, {4, {5, 6}, ""}};
  ResultsGroup group;
  group.add_dimension(Dimension::labels("task", {"a", "b"}));
  group.add_dimension(Dimension::count("head", 2));
  group.add({"n_pair", "task", "count", "pairs"}, tasks, &Task::n_pair);
  group.add({"change", "task head", "nats", "changes"}, tasks, &Task::by_head);
  group.add({"relation", "task", "1", "relations"}, tasks, &Task::relation);
  EXPECT_THAT(group.values("n_pair").values, testing::ElementsAre(3, 4));
  EXPECT_THAT(group.values("change").values, testing::ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(group.variable("relation").text, testing::ElementsAre("nsubj", ""));
}

TEST(VariableTable, FillsInWhatARunKnows) {
  const VariableTable variables{
      {"gain", "layer kind", "1", "gain of {n} draws{n}", "A{n}", "{what} resampled"},
      Declaration::count("n_draw", "", "draws")};
  ResultsGroup group = small_group();
  group.add(variables["gain"].with("n", "2").with("what", "blocks"), std::vector<Estimate>(4));
  group.add(variables["n_draw"], 2);
  const Variable& gain = group.variable("gain");
  EXPECT_THAT(gain.dimensions, ElementsAre("layer", "kind"));
  EXPECT_EQ(gain.long_name, "gain of 2 draws2");
  EXPECT_EQ(gain.references, "A2");
  EXPECT_EQ(gain.resampling, "blocks resampled");
  EXPECT_EQ(group.variable("n_draw").type, Variable::Type::integer);
  EXPECT_EQ(message_of([&] { variables["n_draw"].with("n", "2"); }),
            "variable n_draw: expected {n}, got none");
  EXPECT_EQ(message_of([&] { variables["loss"]; }), "variable loss is not declared");
}

TEST(Dimension, FindsALabelInWords) {
  EXPECT_EQ(Dimension::labels("task", {"a", "b"}).place_of("b"), 1u);
  EXPECT_EQ(Dimension::labels("task", {"a", "b"}).place_of("c"), std::nullopt);
  EXPECT_EQ(Dimension::count("layer", 2).place_of("0"), std::nullopt);
  EXPECT_EQ(Dimension::labels("task", {"a", "b"}).index_of("b"), 1u);
  EXPECT_EQ(message_of([] { return Dimension::labels("task", {"a"}).index_of("c"); }),
            "dimension task: no label \"c\"");
}

TEST(Tables, CellsAreNoFormulas) {
  EXPECT_EQ(csv_row({"=1", " =1", "\t@x", "＝1", "－x", "-1", "- ", "−", "a=1"}),
            "'=1,' =1,' @x,'＝1,'－x,-1,'- ,−,a=1\n");
}

TEST(Tables, OfAGroupWithALineFeedInItsNameAddNoLineToTheList) {
  const test::TemporaryDirectory folder;
  ResultsGroup group = small_group();
  group.name = "g\nnotes.csv\nx";
  group.add(reals("total", {}, Array(Shape{}, {1.0})));
  Results results;
  results.groups = {group};
  test::write_file(folder.file("notes.csv"), "of the user");
  write_tables(results, folder.path());
  remove_tables(folder.path(), {"notes", "g"});
  EXPECT_EQ(test::read_file(folder.file("notes.csv")), "of the user");
}

TEST(Tables, AreLongWithAColumnPerDimensionAndTheInterval) {
  const test::TemporaryDirectory folder;
  ResultsGroup group = small_group();
  group.add({"loss", "layer kind", "1", "Definition of loss", headscope_definition,
             "documents resampled"},
            std::vector<Estimate>{{0.1, 0, 1}, {2, 1, 3}, {}, {-1e-7, -1, 1}});
  group.add(reals("total", {}, Array(Shape{}, {1.0 / 3})));
  Variable flag = reals("type", {"kind"}, Array({2}, {1, 0}));
  flag.type = Variable::Type::flag;
  flag.flag_meanings = {"none", "sink"};
  group.add(flag);
  Results results;
  group.name = "control/g";
  results.groups = {group};
  write_tables(results, folder.file("tables"));
  EXPECT_EQ(test::read_file(folder.file("tables/control.g.loss.csv")),
            "layer,kind,loss,ci_low,ci_high\n0,q,0.1,0,1\n0,\"k, v\",2,1,3\n1,q,NaN,NaN,NaN\n"
            "1,\"k, v\",-1e-07,-1,1\n");
  EXPECT_EQ(test::read_file(folder.file("tables/control.g.total.csv")),
            "total\n0.3333333333333333\n");
  EXPECT_EQ(test::read_file(folder.file("tables/control.g.type.csv")),
            "kind,type\nq,sink\n\"k, v\",none\n");
  EXPECT_FALSE(std::filesystem::exists(folder.file("tables/control.g.loss_ci_low.csv")));
}

TEST(Tables, LeaveOutWhatIsTooLarge) {
  const test::TemporaryDirectory folder;
  ResultsGroup group;
  group.name = "attention";
  group.add_dimension(Dimension::count("query", 1001));
  group.add_dimension(Dimension::count("key", 1000));
  group.add(reals("pattern", {"query", "key"}, Array({1001, 1000})));
  group.add(reals("entropy", {"query"}, Array({1001})));
  Results results;
  results.groups = {group};
  write_tables(results, folder.file(""));
  EXPECT_THAT(folder.files(), ElementsAre("attention.entropy.csv", "headscope-tables.txt"));
}

TEST(Tables, LeaveOutPatternsUnlessAsked) {
  const test::TemporaryDirectory folder;
  ResultsGroup group;
  group.name = "attention/0";
  group.add_dimension(Dimension::count("query", 2));
  group.add_dimension(Dimension::count("key", 1));
  group.add(reals("pattern", {"query", "key"}, Array({2, 1}, {1, 2})));
  group.add(reals("weighted", {"query", "key"}, Array({2, 1}, {3, 4})));
  group.add(reals("entropy", {"query"}, Array({2})));
  Results results;
  results.groups = {group};
  write_tables(results, folder.file(""));
  EXPECT_THAT(folder.files(), ElementsAre("attention.0.entropy.csv", "headscope-tables.txt"));
  write_pattern_tables(results, folder.file(""));
  EXPECT_EQ(test::read_file(folder.file("attention.0.pattern.csv")),
            "query,key,pattern\n0,0,1\n1,0,2\n");
  EXPECT_EQ(test::read_file(folder.file("attention.0.weighted.csv")),
            "query,key,weighted\n0,0,3\n1,0,4\n");
}

TEST(Tables, HaveARowPerExample) {
  const test::TemporaryDirectory folder;
  ResultsGroup group;
  group.name = "classification/examples";
  group.add_dimension(Dimension::count("example", 2));
  group.add(reals("layer", {"example"}, Array({2}, {3, 4})));
  Variable found = reals("found", {"example"}, Array({2}, {1, 0}));
  found.type = Variable::Type::flag;
  found.flag_meanings = {"missed", "found"};
  group.add(found);
  Results results;
  results.groups = {group};
  write_tables(results, folder.file(""));
  EXPECT_THAT(folder.files(), ElementsAre("classification.examples.csv", "headscope-tables.txt"));
  EXPECT_EQ(test::read_file(folder.file("classification.examples.csv")),
            "example,layer,found\n0,3,found\n1,4,missed\n");
}

TEST(LongTable, LeadingRowsAreTheLargestWithoutGaps) {
  ResultsGroup group;
  group.add_dimension(Dimension::count("x", 5));
  group.add(reals("v", {"x"}, Array({5}, {1, NAN, -7, 3, -3})));
  const LongTable table(group, group.variable("v"));
  EXPECT_THAT(table.leading_rows(3), ElementsAre(2, 3, 4));
  EXPECT_THAT(table.leading_rows(5), ElementsAre(0, 1, 2, 3, 4));
}

}  // namespace
}  // namespace headscope
