#include "tasks/templates/template.hpp"

namespace headscope {
namespace {

const std::vector<std::string> women{"Mary",  "Anna",   "Sarah", "Laura",  "Kate",    "Emma",
                                     "Alice", "Jane",   "Lucy",  "Rachel", "Helen",   "Grace",
                                     "Julia", "Claire", "Lily",  "Amy",    "Rose",    "Sue",
                                     "Emily", "Susan",  "Linda", "Maria",  "Jessica", "Elizabeth"};

const std::vector<std::string> men{"John",   "Tom",    "James",  "Peter",   "David",   "Paul",
                                   "Mark",   "Simon",  "Robert", "George",  "Adam",    "Frank",
                                   "Jack",   "Luke",   "Henry",  "Max",     "Ben",     "Daniel",
                                   "Martin", "Oliver", "Tim",    "William", "Richard", "Michael"};

const std::vector<std::string> roles{
    "friend", "teacher", "doctor",    "singer",  "cook",    "writer", "dancer", "runner",
    "artist", "farmer",  "neighbour", "student", "painter", "player", "leader", "driver"};

const std::vector<std::string> qualities{"good",  "great", "kind", "nice",    "fine",  "clever",
                                         "brave", "wise",  "bad",  "strange", "funny", "famous"};

const std::vector<std::string> tag_frames{"So {name} is a really {quality} {role}, isn't",
                                          "Well, {name} is such a {quality} {role}, isn't",
                                          "I think that {name} is a very {quality} {role}, isn't"};

}  // namespace

TaskTemplate gendered_pronoun_template() {
  return {"gendered_pronoun",
          "Gendered pronoun: a question tag takes the pronoun of the name's gender.",
          "Mathwin et al. 2023, Identifying a Preliminary Circuit for Predicting Gendered Pronouns "
          "in GPT-2 Small",
          "", [](const TokenizerCheck& words) -> PairMaker {
            const auto female = words.single_token_words("names of women", women),
                       male = words.single_token_words("names of men", men),
                       single_token_roles = words.single_token_words("roles", roles),
                       single_token_qualities = words.single_token_words("qualities", qualities);
            return [=](Draws& draws) -> TemplatePair {
              const bool is_female = draws.below(2) == 1;
              const std::string name = draws.one_of(is_female ? female : male),
                                role = draws.one_of(single_token_roles),
                                quality = draws.one_of(single_token_qualities),
                                frame = draws.one_of(tag_frames);
              return {filled(frame, {{"name", name}, {"role", role}, {"quality", quality}}),
                      is_female ? " she" : " he", is_female ? " he" : " she"};
            };
          }};
}

}  // namespace headscope
