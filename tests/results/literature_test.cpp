#include "headscope/literature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "headscope/results.hpp"
#include "report/report_heads.hpp"

namespace headscope {
namespace {

/// Results of a model of GPT-2 small's shape, in which L4H11 attends most to the previous token and
/// L10H7 suppresses most.
Results stand_in(const std::string& path, const std::string& digest = "0") {
  Results results;
  for (const auto& [name, value] :
       {std::pair{"n_layer", 12}, {"n_head", 12}, {"d_model", 768}, {"d_vocab", 50257}}) {
    results.attributes[name] = std::int64_t{value};
  }
  results.attributes["model_path"] = path;
  results.attributes["model_sha256"] = digest;
  ResultsGroup group;
  group.name = "classification";
  group.add_dimension(Dimension::count("layer", 12));
  group.add_dimension(Dimension::count("head", 12));
  Array previous({12, 12}, 0.1), suppression({12, 12}, 0.0);
  previous(4, 11) = 0.9;
  previous(2, 2) = 0.05;
  suppression(10, 7) = -0.5;
  group.add({"previous_token", {"layer", "head"}, "probability", "p"}, previous);
  group.add({"suppression_effect", {"layer", "head"}, "logits", "s"}, suppression);
  results.groups.push_back(std::move(group));
  return results;
}

const PublishedRole& role_of(const Literature& literature, HeadIndex head) {
  for (const PublishedRole& role : literature.roles) {
    if (role.head == head) return role;
  }
  throw std::out_of_range(head.text());
}

TEST(Literature, RolesAreComparedWithWhatTheRunMeasured) {
  const auto literature = published_roles(stand_in("models/gpt2/model.safetensors"));
  ASSERT_TRUE(literature);
  EXPECT_EQ(literature->model, "GPT-2 small");
  EXPECT_EQ(literature->recognised_by, "its shape and name");
  EXPECT_EQ(role_text(role_of(*literature, {4, 11}), 144),
            "L4H11, previous token (Wang et al. 2022, Interpretability in the Wild): "
            "previous_token 0.9, rank 1 of 144; agrees");
  EXPECT_EQ(role_of(*literature, {2, 2}).agrees(144), false);
  EXPECT_EQ(role_of(*literature, {2, 2}).rank, 144U);
  EXPECT_EQ(role_of(*literature, {10, 7}).agrees(144), true);
  EXPECT_EQ(role_of(*literature, {9, 1}).agrees(144), std::nullopt);
  EXPECT_THAT(role_text(role_of(*literature, {9, 1}), 144),
              testing::EndsWith("Successor Heads): not measured by this run"));
  EXPECT_EQ(role_of(*literature, {5, 5}).agrees(144), std::nullopt) << "no variable induction";
}

TEST(Literature, ThePanelOfAHeadQuotesItsRoles) {
  const auto summaries_of = [](const std::string& path) {
    return nlohmann::json::parse(head_data_json(stand_in(path), {}))["summaries"];
  };
  const auto summaries = summaries_of("models/gpt2/model.safetensors");
  ASSERT_EQ(summaries[4 * 12 + 11].size(), 1U);
  EXPECT_EQ(summaries[4 * 12 + 11][0]["text"],
            "Published role: L4H11, previous token (Wang et al. 2022, Interpretability in the "
            "Wild): previous_token 0.9, rank 1 of 144; agrees.");
  EXPECT_EQ(summaries[10 * 12 + 7].size(), 2U) << "negative, and copy suppression";
  EXPECT_TRUE(summaries[11 * 12 + 11].empty());
  EXPECT_TRUE(summaries_of("models/mine/model.safetensors")[4 * 12 + 11].empty());
}

TEST(Literature, AnotherModelHasNone) {
  EXPECT_FALSE(published_roles(stand_in("models/mine/model.safetensors")));
  Results other = stand_in("gpt2.h5");
  other.attributes["n_layer"] = std::int64_t{6};
  EXPECT_FALSE(published_roles(other));
  EXPECT_FALSE(published_roles(Results()));
}

TEST(Literature, TheDigestIsEnough) {
  const auto literature = published_roles(
      stand_in("a.h5", "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707"));
  ASSERT_TRUE(literature);
  EXPECT_EQ(literature->recognised_by, "the digest of its file");
  EXPECT_TRUE(published_roles(stand_in("gpt2.h5")));
}

}  // namespace
}  // namespace headscope
