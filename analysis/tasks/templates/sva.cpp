#include "tasks/templates/template.hpp"

namespace headscope {
namespace {

struct CountedNoun {
  std::string singular, plural;
};

const std::vector<CountedNoun> subjects{
    {"boy", "boys"},         {"girl", "girls"},      {"king", "kings"},
    {"doctor", "doctors"},   {"friend", "friends"},  {"teacher", "teachers"},
    {"farmer", "farmers"},   {"bird", "birds"},      {"horse", "horses"},
    {"dog", "dogs"},         {"house", "houses"},    {"book", "books"},
    {"tree", "trees"},       {"flower", "flowers"},  {"picture", "pictures"},
    {"window", "windows"},   {"door", "doors"},      {"ship", "ships"},
    {"student", "students"}, {"soldier", "soldiers"}};

const std::vector<CountedNoun> attractors{
    {"table", "tables"}, {"garden", "gardens"}, {"river", "rivers"}, {"wall", "walls"},
    {"road", "roads"},   {"bridge", "bridges"}, {"hill", "hills"},   {"tower", "towers"},
    {"boat", "boats"},   {"car", "cars"},       {"lake", "lakes"},   {"fire", "fires"}};

const std::vector<std::string> prepositions{"near", "behind", "beside", "by", "beyond"};

/// The verb of one and of many.
const std::vector<CountedNoun> verbs{{"is", "are"}, {"was", "were"}, {"has", "have"}};

std::vector<CountedNoun> single_nouns(const TokenizerCheck& words, const std::string& kind,
                                      const std::vector<CountedNoun>& nouns) {
  std::vector<CountedNoun> found;
  for (const CountedNoun& noun : nouns) {
    if (words.is_single(" " + noun.singular) && words.is_single(" " + noun.plural)) {
      found.push_back(noun);
    }
  }
  if (found.size() < 2) {
    words.refuse("expected at least two " + kind +
                 " of one token in singular and plural in the tokenizer, got " +
                 std::to_string(found.size()) + " of " + std::to_string(nouns.size()));
  }
  return found;
}

}  // namespace

TaskTemplate sva_template() {
  return {
      "sva",
      "Subject-verb agreement across a noun of the other number: the verb goes by its subject.",
      "Linzen et al. 2016, Assessing the Ability of LSTMs to Learn Syntax-Sensitive Dependencies",
      "nsubj", [](const TokenizerCheck& words) -> PairMaker {
        const auto subject = single_nouns(words, "subjects", subjects),
                   attractor = single_nouns(words, "attractors", attractors),
                   verb = single_nouns(words, "verbs", verbs);
        return [=](Draws& draws) -> TemplatePair {
          const CountedNoun &noun = draws.one_of(subject), &other = draws.one_of(attractor),
                            &ending = draws.one_of(verb);
          const bool many = draws.below(2) == 1;
          return {"The " + (many ? noun.plural : noun.singular) + " " + draws.one_of(prepositions) +
                      " the " + (many ? other.singular : other.plural),
                  " " + (many ? ending.plural : ending.singular),
                  " " + (many ? ending.singular : ending.plural)};
        };
      }};
}

}  // namespace headscope
