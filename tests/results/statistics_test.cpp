#include "headscope/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "headscope/error.hpp"
#include "headscope/random.hpp"
#include "support/message_of.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

// Adds the statistics of one document, as an analysis does.
void observe(Statistics& statistics, std::uint64_t document) {
  const CounterRandom random(3, document);
  DocumentStatistics part(statistics, document);
  Array& total = part.sum("total", {2, 3});
  Array& row = part.row("loss", {2});
  for (std::size_t i = 0; i < total.size(); ++i) {
    total.values[i] += random.uniform(i) * std::exp2(static_cast<double>(i) * 8);
  }
  for (std::size_t i = 0; i < row.size(); ++i) row.values[i] += random.uniform(100 + i);
  part.end();
}

TEST(Statistics, MergedPartsInAnyOrderAreTheWholeToTheLastBit) {
  Statistics whole, first, second;
  for (std::uint64_t document = 0; document < 9; ++document) observe(whole, document);
  for (const std::uint64_t document : {8, 0, 3, 5}) observe(first, document);
  for (const std::uint64_t document : {7, 6, 1, 4, 2}) observe(second, document);
  second.merge(first);
  EXPECT_EQ(second.total("total").values, whole.total("total").values);
  ASSERT_EQ(second.rows("loss").size(), 9u);
  for (const auto& [document, row] : whole.rows("loss")) {
    EXPECT_EQ(second.rows("loss").at(document).values, row.values);
  }
}

TEST(Statistics, RecordsAndTextsHaveAShapeOfTheirOwnInEachDocument) {
  Statistics statistics, other;
  DocumentStatistics first(statistics, 0), second(other, 1);
  first.record("cases", {2})(1) = 3;
  first.texts("tokens") = {"a"};
  second.record("cases", {1, 1});
  second.texts("tokens") = {"b", "c"};
  statistics.merge(other);
  EXPECT_EQ(statistics.record("cases", 0).values, (std::vector<double>{0, 3}));
  EXPECT_EQ(statistics.record("cases", 1).shape, (Shape{1, 1}));
  EXPECT_EQ(statistics.texts("tokens", 1), (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(statistics.has("cases", 1) && statistics.has("tokens", 0) &&
              statistics.has("tokens"));
  EXPECT_FALSE(statistics.has("cases", 2) || statistics.has("token", 0));
  EXPECT_EQ(test::message_of<ShapeError>([&] { first.record("cases", {3}); }),
            "statistic cases: expected shape [2], got [3]");
  EXPECT_EQ(test::message_of<Error>([&] { statistics.record("cases", 5); }),
            "statistics: expected a record cases of document 5, found none");
  EXPECT_EQ(test::message_of<Error>([&] { statistics.texts("cases", 0); }),
            "statistics: expected texts cases of document 0, found none");
  EXPECT_EQ(test::message_of<Error>([&] { statistics.merge(other); }),
            "statistic cases: expected each document once, got document 1 twice");
  statistics.seal();
  EXPECT_THROW(first.record("cases", {2}), Error);
  EXPECT_THROW(first.texts("tokens"), Error);
}

TEST(Statistics, MergingIntoNothingCopies) {
  Statistics filled, empty;
  observe(filled, 1);
  empty.merge(filled);
  EXPECT_EQ(empty.total("total").values, filled.total("total").values);
  EXPECT_TRUE(empty.has("loss"));
  EXPECT_FALSE(empty.has("lost"));
}

TEST(Statistics, MergingWhatIsGivenUpCopiesNothingThatIsMissing) {
  Statistics filled, given_up, sum;
  observe(filled, 1);
  observe(given_up, 2);
  const double* const values = given_up.rows("loss").at(2).values.data();
  sum.merge(std::move(given_up));
  EXPECT_EQ(sum.rows("loss").at(2).values.data(), values);
  sum.merge(std::move(filled));
  EXPECT_EQ(sum.rows("loss").at(2).values.data(), values);
  EXPECT_EQ(sum.rows("loss").size(), 2u);
}

TEST(Statistics, TotalsHoldDocumentsThatHaveEnded) {
  Statistics statistics;
  DocumentStatistics first(statistics, 0), second(statistics, 1);
  first.sum("total", {2})(0) += 1.5;
  EXPECT_EQ(statistics.total("total").values, (std::vector<double>{0, 0}));
  first.sum("total", {2})(0) += 2;
  first.end();
  EXPECT_EQ(statistics.total("total").values, (std::vector<double>{3.5, 0}));
  second.sum("total", {2})(1) -= 4;
  second.end();
  EXPECT_EQ(statistics.total("total").values, (std::vector<double>{3.5, -4}));
}

TEST(Statistics, TotalsHoldWhatIsAddedDirectlyAtOnce) {
  Statistics statistics;
  DocumentStatistics document(statistics, 0);
  const float values[] = {0.25F, -3};
  document.add("large", {3}, 1, values);
  EXPECT_EQ(statistics.total("large").values, (std::vector<double>{0, 0.25, -3}));
  document.add("large", {3}, 0, values);
  EXPECT_EQ(statistics.total("large").values, (std::vector<double>{0.25, -2.75, -3}));
  const double beyond_float32[] = {0x1p24 + 1};
  document.add("large", {3}, 2, beyond_float32);
  EXPECT_EQ(statistics.total("large").values, (std::vector<double>{0.25, -2.75, 0x1p24 - 2}));
}

TEST(Statistics, RefusesASumThatIsInfiniteOrTooLarge) {
  Statistics statistics;
  DocumentStatistics document(statistics, 0);
  document.sum("total", {1})(0) = 1e300;
  EXPECT_EQ(test::message_of([&] { document.end(); }),
            "statistic total: expected sums below 2^57 of values below 2^55, got a larger one "
            "or infinity; the model's weights may be damaged");
}

TEST(Statistics, SealedNamesAreReadButNotAddedTo) {
  Statistics statistics;
  observe(statistics, 0);
  statistics.seal();
  EXPECT_EQ(statistics.rows("loss").size(), 1u);
  EXPECT_NO_THROW(statistics.total("total"));
  DocumentStatistics document(statistics, 1);
  EXPECT_THROW(document.row("loss", {2}), Error);
  EXPECT_EQ(test::message_of([&] {
              document.sum("total", {2, 3});
            }),
            "statistic total: expected a name of this pass's own, got one of an earlier");
}

TEST(Statistics, RefusesADocumentCountedTwiceAndChangesNothing) {
  Statistics a, b;
  observe(a, 7);
  observe(b, 7);
  const std::vector<double> before = a.total("total").values;
  EXPECT_EQ(test::message_of([&] { a.merge(b); }),
            "statistic loss: expected each document once, got document 7 twice");
  EXPECT_EQ(a.total("total").values, before);
}

TEST(Statistics, RefusesAnotherShape) {
  Statistics statistics;
  DocumentStatistics first(statistics, 0), second(statistics, 1);
  first.sum("total", {2, 3});
  first.row("loss", {2});
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              second.sum("total", {3, 2});
            }),
            "statistic total: expected shape [2, 3], got [3, 2]");
  EXPECT_THROW(second.row("loss", {4}), ShapeError);
  EXPECT_EQ(statistics.rows("loss").size(), 1u);
  Statistics other;
  DocumentStatistics(other, 2).sum("total", {6});
  EXPECT_THROW(statistics.merge(other), ShapeError);
}

TEST(Statistics, NamesWhatIsMissing) {
  const Statistics statistics;
  EXPECT_EQ(test::message_of([&] { statistics.total("tokens"); }),
            "statistics: expected a sum tokens, found none");
  EXPECT_THROW(statistics.rows("loss"), Error);
}

TEST(CounterRandom, IsTheSameOnEveryMachine) {
  // Computed from the header's formula with Python's integers.
  EXPECT_EQ(CounterRandom(0).value(0), 2558736989570252433u);
  EXPECT_EQ(CounterRandom(20240229, 5).value(17), 14771699717204622405u);
}

TEST(CounterRandom, IsUniform) {
  const CounterRandom random(1);
  std::vector<int> counts(10, 0);
  double total = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    ++counts[random.below(10, i)];
    total += random.uniform(i);
  }
  // Five standard deviations of sqrt(1e5 * 0.1 * 0.9) = 95 and 1 / sqrt(12e5) = 0.0009.
  for (const int count : counts) EXPECT_NEAR(count, 10000, 475);
  EXPECT_NEAR(total / 100000, 0.5, 0.0046);
}

TEST(PairedT, AgreesWithSciPy) {
  const auto p = [](const std::vector<double>& differences) {
    double sum = 0, squares = 0;
    for (const double each : differences) {
      sum += each;
      squares += each * each;
    }
    return paired_t_p(static_cast<double>(differences.size()), sum, squares);
  };
  // scipy.stats.ttest_1samp(x, 0).pvalue, to seven digits
  EXPECT_NEAR(p({1, 2}), 0.2048328, 1e-7);
  EXPECT_NEAR(p({-1.5, 0.25, 3, 0.75, 2}), 0.3067908, 1e-7);
  EXPECT_EQ(p({0, 0, 0}), 1);
  EXPECT_EQ(p({2, 2, 2}), 0);
  EXPECT_TRUE(std::isnan(p({3})));
}

TEST(BenjaminiHochberg, AgreesWithTheDefinition) {
  // Sorted p: 0.01 0.02 0.03 0.2 0.9. q is p * 5 / rank, then the running minimum from the largest
  // p.
  const auto q = benjamini_hochberg({0.2, 0.01, NAN, 0.9, 0.03, 0.02});
  const std::vector<double> expected{0.25, 0.05, NAN, 0.9, 0.05, 0.05};
  for (std::size_t i = 0; i < q.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(q[i]));
    } else {
      EXPECT_DOUBLE_EQ(q[i], expected[i]);
    }
  }
}

TEST(BenjaminiHochberg, KeepsTheOrderAndNeverLowersAPValue) {
  std::vector<double> p(200);
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = CounterRandom(4).uniform(i);
  const auto q = benjamini_hochberg(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_GE(q[i], p[i]);
    EXPECT_LE(q[i], 1);
    for (std::size_t j = 0; j < i; ++j) EXPECT_GE((p[i] - p[j]) * (q[i] - q[j]), 0);
  }
  EXPECT_TRUE(benjamini_hochberg({}).empty());
}

TEST(Correlation, AgreesWithSciPy) {
  // Expected value: spearmanr of SciPy 1.10.
  const std::vector<double> x{1, 2, 2, 3, 5, 4}, y{2, 1, 3, 3, 6, 7};
  EXPECT_NEAR(spearman(x, y), 0.8088235294117647, test::double_rounding);
}

TEST(Correlation, SpearmanSeesOnlyOrder) {
  const std::vector<double> x{3, 1, 4, 1.5, 9, 2}, y{1, 5, 2, 6, 5, 3};
  std::vector<double> stretched;
  for (const double value : x) stretched.push_back(std::exp(value));
  EXPECT_DOUBLE_EQ(spearman(x, y), spearman(stretched, y));
}

TEST(Correlation, OfAConstantIsNotANumber) {
  EXPECT_TRUE(std::isnan(spearman({0.1, 0.1, 0.1}, {1, 2, 3})));
  EXPECT_TRUE(std::isnan(spearman({1, 2, 3}, {7, 7, 7})));
  EXPECT_TRUE(std::isnan(spearman({1, NAN, 3}, {1, 2, 3})));
  EXPECT_TRUE(std::isnan(spearman({}, {})));
  EXPECT_THROW(spearman({1, 2}, {1}), ShapeError);
}

}  // namespace
}  // namespace headscope
