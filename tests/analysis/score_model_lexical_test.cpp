#include <gtest/gtest.h>

#include <cmath>

#include "induction.hpp"
#include "score_model/lexical.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

// In layer 0 of a model without learned positions, queries and keys depend on the token and the
// place alone, so that the scores out of context are those in context.
TEST(LexicalScores, OfLayer0AreTheModelsScoresWherePositionsAreRotary) {
  for (const auto& [name, config] : test::every_architecture()) {
    if (config.positions != PositionKind::rotary) continue;
    SCOPED_TRACE(name);
    const Model model = test::random_weights(config, 1);
    const TokenIds tokens{1, 5, 2, 7, 5, 3, 8, 2, 9};
    FitSample sample;
    sample.tokens = {tokens};
    for (const Index query : {Index{4}, Index{8}}) {
      sample.queries.push_back({sample.n_pair(), query, 0, 0});
      sample.begin.resize(sample.begin.size() + query);
    }
    TokenNumbers numbers;
    numbers.add(tokens);
    numbers.complete();
    LexicalStream stream(model, tokens.front(), numbers.tokens(), ComputeContext());
    std::vector<float> scores;
    lexical_scores(config, 0, stream.next(), numbers, sample, 0, scores);
    for (Index head = 0; head < config.n_head; ++head) {
      const Matrix pattern = head_pattern(model, tokens, {0, head});
      for (const FitSample::Query& query : sample.queries) {
        const auto score = [&](Index key) {
          return scores[(query.first_pair + key - 1) * n_logit_lane + head];
        };
        for (Index key = 2; key <= query.query; ++key) {
          const double in_context = std::log(pattern(key, query.query) / pattern(1, query.query));
          EXPECT_NEAR(score(key) - score(1), in_context, 2e-4) << "head " << head << " key " << key;
        }
      }
    }
  }
}

}  // namespace
}  // namespace headscope
