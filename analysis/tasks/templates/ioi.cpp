#include "tasks/templates/template.hpp"

namespace headscope {
namespace {

const std::vector<std::string> ioi_names{
    "Mary",   "John",  "Tom",   "James", "Anna",   "Peter",  "Sarah",  "David",  "Laura",  "Paul",
    "Kate",   "Mark",  "Emma",  "Simon", "Alice",  "Robert", "Jane",   "George", "Lucy",   "Adam",
    "Rachel", "Frank", "Helen", "Jack",  "Grace",  "Luke",   "Julia",  "Henry",  "Claire", "Max",
    "Sam",    "Ben",   "Lily",  "Amy",   "Daniel", "Rose",   "Martin", "Oliver", "Sue",    "Tim"};

const std::vector<std::string> ioi_places{
    "store", "park",    "garden", "school", "house",  "market",  "office", "station",
    "river", "kitchen", "beach",  "farm",   "forest", "library", "church", "village"};

const std::vector<std::string> ioi_things{"drink", "book", "ring", "ball",   "letter",
                                          "key",   "cake", "box",  "flower", "picture",
                                          "map",   "coin", "hat",  "stone",  "toy"};

const std::vector<std::string> ioi_frames{
    "When {first} and {second} went to the {place}, {giver} gave a {thing} to",
    "After {first} and {second} had met at the {place}, {giver} handed a {thing} to",
    "While {first} and {second} were walking to the {place}, {giver} showed a {thing} to",
    "Then {first} and {second} came to the {place}. There {giver} offered a {thing} to",
    "{first} and {second} spent a long day at the {place}, and {giver} sold a {thing} to",
    "At the {place}, {first} and {second} talked for a while, and then {giver} passed a {thing} "
    "to"};

}  // namespace

TaskTemplate ioi_template() {
  return {"ioi",
          "Indirect object identification: of two names, the one that does not give receives.",
          "Wang et al. 2022, Interpretability in the Wild", "",
          [](const TokenizerCheck& words) -> PairMaker {
            const auto names = words.single_token_words("names", ioi_names),
                       places = words.single_token_words("places", ioi_places),
                       things = words.single_token_words("things", ioi_things);
            return [=](Draws& draws) -> TemplatePair {
              const auto [giver, receiver] = draws.two_of(names);
              // Names in the order ABB or BAB, as often.
              const bool giver_first = draws.below(2) == 1;
              const std::string place = draws.one_of(places), thing = draws.one_of(things),
                                frame = draws.one_of(ioi_frames);
              return {filled(frame, {{"first", giver_first ? giver : receiver},
                                     {"second", giver_first ? receiver : giver},
                                     {"giver", giver},
                                     {"place", place},
                                     {"thing", thing}}),
                      " " + receiver, " " + giver};
            };
          }};
}

}  // namespace headscope
