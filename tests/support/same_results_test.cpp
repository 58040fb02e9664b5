#include "support/same_results.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/results_sample.hpp"

namespace headscope::test {
namespace {

/// What first_difference says of the sample after a change of it.
template <typename Change>
std::string difference_after(const Change& change) {
  Results changed = results_sample();
  change(changed);
  return first_difference(results_sample(), changed);
}

TEST(FirstDifference, IsNoneOfEqualResults) {
  EXPECT_EQ(first_difference(results_sample(), results_sample()), "");
  EXPECT_EQ(difference_after([](Results& results) { results.attributes["date"] = "another"; }), "");
}

TEST(FirstDifference, NamesWhatDiffers) {
  EXPECT_EQ(difference_after([](Results& results) { results.attributes["new"] = "value"; }),
            "attribute new");
  const auto after = [](const auto& change) {
    return difference_after([&](Results& results) { change(results.group("pruning")); });
  };
  const auto after_variable = [&](const auto& change) {
    return after([&](ResultsGroup& group) {
      for (Variable& variable : group.variables) {
        if (variable.name == "loss_increase") change(variable);
      }
    });
  };
  EXPECT_EQ(after([](ResultsGroup& group) { group.title += "!"; }), "pruning: title");
  EXPECT_EQ(after([](ResultsGroup& group) { group.dimensions.at("fraction").values[1] = 0.2; }),
            "pruning: dimension fraction");
  EXPECT_EQ(after([](ResultsGroup& group) { group.dimensions.at("type").text[0] = "other"; }),
            "pruning: dimension type");
  EXPECT_EQ(after_variable([](Variable& variable) { variable.values.values[0] += 1e-15; }),
            "pruning/loss_increase: values");
  EXPECT_EQ(after_variable([](Variable& variable) { variable.interval->low.values[0] = NAN; }),
            "pruning/loss_increase: interval");
  EXPECT_EQ(after_variable([](Variable& variable) { variable.units = "bits"; }),
            "pruning/loss_increase: units");
  EXPECT_EQ(after_variable([](Variable& variable) { variable.references += "?"; }),
            "pruning/loss_increase: references");
  EXPECT_EQ(after_variable([](Variable& variable) { variable.flag_meanings = {"no"}; }),
            "pruning/loss_increase: flag_meanings");
}

TEST(FirstDifference, NamesTheClaimOfAnotherEffect) {
  ResultsGroup a, b;
  a.name = b.name = "g";
  Claim claim;
  claim.statement = "Heads attend.";
  a.claims = {claim};
  claim.effect_name = "count";
  b.claims = {claim};
  EXPECT_EQ(first_difference(a, b), "g: Heads attend.");
}

}  // namespace
}  // namespace headscope::test
