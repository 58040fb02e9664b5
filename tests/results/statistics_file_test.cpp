#include "results/statistics_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "files/hdf5_file.hpp"
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
  first.record("cases/a", {2, 1}).values = {-1, 0.5};
  first.texts("tokens") = {std::string("a\0b", 3), "", "\xff\xc3"};
  first.end();
  second.row("loss", {2}).values = {0.3, NAN};
  second.record("cases/a", {0});
  second.texts("tokens");
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
  for (const std::uint64_t document : {3, 1000000007}) {
    EXPECT_EQ(a.record("cases/a", document).shape, b.record("cases/a", document).shape);
    EXPECT_EQ(a.record("cases/a", document).values, b.record("cases/a", document).values);
    EXPECT_EQ(a.texts("tokens", document), b.texts("tokens", document));
  }
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
  for (const char* const name : {"loss", "cases/a", "tokens"})
    EXPECT_FALSE(loaded.has(name)) << name;
}

/// The message about a statistics file that another program changed.
std::string refusal_of_changed(const std::function<void(hdf5::OutputFile&)>& add) {
  const test::TemporaryDirectory folder;
  hdf5::OutputFile file(folder.file("s.h5"));
  file.set_attribute("", "format", std::string("headscope statistics 3"));
  const std::string texts = "{}";
  file.write("texts", {2},
             std::span(reinterpret_cast<const std::uint8_t*>(texts.data()), texts.size()));
  for (const char* const group : {"sums", "rows", "records", "texts"}) {
    file.create_group(std::string("parts/p/") + group);
  }
  add(file);
  file.publish();
  return test::message_of<DataError>([&] { load_statistics(folder.file("s.h5")); })
      .substr(folder.file("s.h5").size());
}

TEST(StatisticsFile, RefusesTextsOfOtherLengthsAndRecordsOfNoDocument) {
  const std::vector<std::uint8_t> bytes{'a', 'b'};
  for (const std::int64_t length : {1, 3, -1}) {
    EXPECT_EQ(refusal_of_changed([&](hdf5::OutputFile& file) {
                const std::vector<std::int64_t> lengths{length};
                file.write("parts/p/texts/id/7", {2}, std::span<const std::uint8_t>(bytes));
                file.write("parts/p/text_lengths/id/7", {1},
                           std::span<const std::int64_t>(lengths));
              }),
              ":parts/p/text_lengths/id/7: expected lengths that add up to 2, got others")
        << length;
  }
  const std::vector<double> values{1};
  for (const std::string place : {"cases/07", "cases/x", "cases", "a/cases/7"}) {
    EXPECT_EQ(
        refusal_of_changed([&](hdf5::OutputFile& file) {
          file.write("parts/p/records/" + place, {1}, std::span<const double>(values));
        }),
        ":parts/p/records/" + place + ": expected the number of a document, got another name");
  }
}

TEST(StatisticsFile, RefusesAResultsFileAndOtherFormats) {
  const test::TemporaryDirectory folder;
  write_results({}, folder.file("r.h5"));
  EXPECT_EQ(test::message_of<DataError>([&] { load_statistics(folder.file("r.h5")); }),
            folder.file("r.h5") +
                ": expected a statistics file (format \"headscope statistics "
                "3\"), found another HDF5 file");
  hdf5::OutputFile earlier(folder.file("s.h5"));
  earlier.set_attribute("", "format", std::string("headscope statistics 2"));
  earlier.publish();
  EXPECT_EQ(
      test::message_of<DataError>([&] { load_statistics(folder.file("s.h5")); }),
      folder.file("s.h5") +
          ":format: expected \"headscope statistics 3\", got \"headscope statistics 2\" of an "
          "earlier version of Headscope; run again to make a new one");
}

}  // namespace
}  // namespace headscope
