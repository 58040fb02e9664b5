#include <gtest/gtest.h>

#include "classification/examples/examples.hpp"
#include "classification/types/registry.hpp"

namespace headscope {
namespace {

TEST(ClassificationExamples, ShowCharactersThatTokensShare) {
  const std::vector<std::string> tokens{"<|endoftext|>", " so", " na", "\xC3", "\xAF", "ve"};
  const Index query = 4;
  Statistics statistics;
  DocumentStatistics document(statistics, 1);
  keep_example({tokens, std::vector<Index>(tokens.size(), no_position), {}, {{.query = query}}},
               document);
  document.record(example_attended, {1, 1, 1}).values = {static_cast<double>(query)};
  document.record(example_lowered, {1, 1, tokens.size()}).values.assign(tokens.size(), -1);
  document.end();
  ResultsGroup group;
  group.name = "classification";
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 1));
  group.add_dimension(Dimension::labels("head_type", {"current_token"}));
  group.add(Declaration::flag("type", "head_type layer head", {"no", "yes"}, "Types"),
            Array({1, 1, 1}, 1));
  group.add({"type_about", "head_type layer head", "1", "About"}, std::vector<std::string>{""});

  const ResultsGroup examples = examples_group({current_token_type()}, statistics, group).value();
  EXPECT_EQ(examples.texts("text").at(0), "so naïve");
  EXPECT_EQ(examples.texts("attended").at(0), "ï");
  for (const char* const place : {"query", "target", "attended"}) {
    const std::string name = place;
    EXPECT_EQ(examples.values(name + "_start").values.at(0), 5) << name;
    EXPECT_EQ(examples.values(name + "_end").values.at(0), 6) << name;
  }
}

}  // namespace
}  // namespace headscope
