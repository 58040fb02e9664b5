#include <gtest/gtest.h>

#include <cstring>
#include <exception>
#include <functional>
#include <random>

#include "headscope/error.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics_file.hpp"
#include "support/results_sample.hpp"
#include "support/same_results.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

/// Reads copies of a file, each with a few random bytes overwritten.
/// @param holds_the_same  reads a copy and compares it with the undamaged file.
/// @return  the number of copies that were refused.
int refused_copies(const std::string& path, int n_copy,
                   const std::function<bool(const std::string&)>& holds_the_same) {
  const std::string whole = testing::read_file(path), copy = path + ".copy";
  std::mt19937_64 random(11);
  int n_refused = 0;
  for (int i = 0; i < n_copy; ++i) {
    std::string damaged = whole;
    const std::size_t length = 1 + random() % 8, at = random() % (whole.size() - length);
    for (std::size_t byte = at; byte < at + length; ++byte) {
      damaged[byte] = static_cast<char>(random());
    }
    testing::write_file(copy, damaged);
    try {
      EXPECT_TRUE(holds_the_same(copy)) << "copy " << i << ", " << length << " bytes at " << at;
    } catch (const Error&) {
      ++n_refused;
    }
  }
  return n_refused;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

TEST(Damage, OfAStatisticsFileIsAnErrorNotAnotherNumber) {
  const testing::TemporaryDirectory folder;
  std::mt19937_64 random(3);
  std::map<std::string, Statistics> parts;
  DocumentStatistics sums(parts["a"], 0);
  for (const char* name : {"total", "other"}) {
    for (double& value : sums.sum(name, {300}).values) {
      value = static_cast<double>(random() % 1000) / 7;
    }
  }
  sums.end();
  for (std::uint64_t document = 0; document < 5; ++document) {
    for (double& value : DocumentStatistics(parts["b"], document).row("loss", {50}).values) {
      value = static_cast<double>(random() % 1000) / 7;
    }
  }
  const std::map<std::string, std::string> texts{{"model", "sha"}, {"corpus", "another"}};
  save_statistics(texts, parts, folder.file("s.h5"));
  const int refused = refused_copies(folder.file("s.h5"), 3000, [&](const std::string& path) {
    const StatisticsFile read = load_statistics(path);
    bool same = read.texts == texts && read.parts.size() == 2 &&
                read.parts.at("a").sum_names() == parts.at("a").sum_names();
    for (const char* name : {"total", "other"}) {
      same =
          same && same_bits(read.parts.at("a").total(name).values, parts["a"].total(name).values);
    }
    const auto& rows = read.parts.at("b").rows("loss");
    for (const auto& [document, row] : parts.at("b").rows("loss")) {
      same = same && rows.contains(document) && same_bits(rows.at(document).values, row.values);
    }
    return same && rows.size() == 5;
  });
  EXPECT_GT(refused, 1500);
}

TEST(Damage, OfAResultsFileIsAnErrorNotAnotherNumberOrText) {
  const testing::TemporaryDirectory folder;
  write_results(test::results_sample(), folder.file("r.h5"));
  const Results whole = read_results(folder.file("r.h5"));
  const int refused = refused_copies(folder.file("r.h5"), 3000, [&](const std::string& path) {
    const Results read = read_results(path);
    return read.attributes == whole.attributes && testing::first_difference(read, whole).empty();
  });
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace headscope
