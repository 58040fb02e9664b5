#include "headscope/statistics_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "headscope/error.hpp"
#include "headscope/results.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

StatisticsFile sample() {
  StatisticsFile file;
  file.texts = {{"model", "a\nb"}, {"corpus", ""}};
  Statistics& statistics = file.parts["control/correlation"];
  DocumentStatistics first(statistics, 3), second(statistics, 1000000007);
  first.sum("relation/nsubj:pass%2f", {2, 3}).values = {1, 2.5, -3, 1e15, 1e-12, 0};
  first.sum("scalar", {}).values = {42};
  first.sum("broken", {1}).values = {NAN};
  first.row("loss", {2}).values = {0.1, 1e300};
  first.end();
  second.row("loss", {2}).values = {0.3, NAN};
  file.parts["empty"];
  return file;
}

void expect_same(const Statistics& a, const Statistics& b) {
  EXPECT_EQ(a.sum_names(), b.sum_names());
  for (const std::string& name : b.sum_names()) {
    EXPECT_EQ(a.total(name).shape, b.total(name).shape);
    EXPECT_TRUE(same_bits(a.total(name).values, b.total(name).values)) << name;
  }
  ASSERT_EQ(a.has("loss"), b.has("loss"));
  if (!a.has("loss")) return;
  ASSERT_EQ(a.rows("loss").size(), b.rows("loss").size());
  for (const auto& [document, row] : b.rows("loss")) {
    EXPECT_EQ(a.rows("loss").at(document).shape, row.shape);
    EXPECT_TRUE(same_bits(a.rows("loss").at(document).values, row.values));
  }
}

TEST(StatisticsFile, LoadsWhatWasSaved) {
  const test::TemporaryDirectory folder;
  const StatisticsFile saved = sample();
  save_statistics(saved.texts, saved.parts, folder.file("s.h5"));
  const StatisticsFile loaded = load_statistics(folder.file("s.h5"));
  EXPECT_EQ(loaded.texts, saved.texts);
  EXPECT_EQ(load_statistics_texts(folder.file("s.h5")), saved.texts);
  ASSERT_EQ(loaded.parts.size(), 2u);
  for (const auto& [name, part] : saved.parts) expect_same(loaded.parts.at(name), part);
}

TEST(StatisticsFile, SavedHalvesMergeToTheWhole) {
  const test::TemporaryDirectory folder;
  for (int half = 0; half < 2; ++half) {
    StatisticsFile file;
    DocumentStatistics document(file.parts["a"], static_cast<std::uint64_t>(half));
    document.sum("n", {1}).values = {half + 0.1};
    document.row("loss", {}).values = {half + 0.5};
    document.end();
    save_statistics(file.texts, file.parts, folder.file(std::to_string(half)));
  }
  Statistics whole = load_statistics(folder.file("0")).parts.at("a");
  whole.merge(load_statistics(folder.file("1")).parts.at("a"));
  EXPECT_EQ(whole.total("n").values[0], 0.1 + 1.1);
  EXPECT_EQ(whole.rows("loss").at(1).values[0], 1.5);
}

TEST(StatisticsFile, LeavesOutWhatIsSealed) {
  const test::TemporaryDirectory folder;
  StatisticsFile file = sample();
  Statistics& statistics = file.parts.at("control/correlation");
  statistics.seal();
  DocumentStatistics(statistics, 0).sum("second pass", {1});
  save_statistics(file.texts, file.parts, folder.file("s.h5"));
  const Statistics loaded = load_statistics(folder.file("s.h5")).parts.at("control/correlation");
  EXPECT_EQ(loaded.sum_names(), std::vector<std::string>{"second pass"});
  EXPECT_FALSE(loaded.has("loss"));
}

TEST(StatisticsFile, RefusesAResultsFile) {
  const test::TemporaryDirectory folder;
  write_results({}, folder.file("r.h5"));
  EXPECT_EQ(test::message_of<DataError>([&] { load_statistics(folder.file("r.h5")); }),
            folder.file("r.h5") +
                ": expected a statistics file (format \"headscope statistics "
                "2\"), found another HDF5 file");
}

}  // namespace
}  // namespace headscope
