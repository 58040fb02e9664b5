#include "classification/examples/cases.hpp"

namespace headscope {

std::vector<ExampleCase> token_cases(
    const ExampleSource& source, const std::function<std::vector<Index>(Index query)>& targets) {
  std::vector<ExampleCase> cases;
  for (Index query = 2; query < source.n_token(); ++query) {
    std::vector<Index> found = targets(query);
    if (!found.empty()) cases.push_back({.query = query, .targets = std::move(found)});
  }
  return cases;
}

void add_word_case(const ExampleSource& source, Index word, const std::vector<Index>& earlier,
                   const std::string& choice, std::vector<ExampleCase>& cases) {
  const auto first_token = [&](Index place) { return source.piece.words.tokens[place].front(); };
  std::vector<Index> targets(earlier.size());
  std::ranges::transform(earlier, targets.begin(), first_token);
  if (first_token(word) >= source.n_token()) return;
  cases.push_back(
      {.query = first_token(word), .targets = std::move(targets), .word = word, .choice = choice});
}

}  // namespace headscope
