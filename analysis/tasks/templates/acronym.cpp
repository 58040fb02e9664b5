#include "tasks/templates/template.hpp"

namespace headscope {
namespace {

const std::vector<std::string> title_words{
    "Army",   "Art",    "Bank",   "Book",  "Car",    "Church", "City",   "Club",  "Day",   "Earth",
    "East",   "Energy", "Fire",   "Food",  "Future", "Game",   "Girl",   "Gold",  "Green", "Group",
    "Health", "Home",   "House",  "Ice",   "Iron",   "Island", "Job",    "King",  "Lake",  "Land",
    "Law",    "Life",   "Light",  "Man",   "Market", "Moon",   "Music",  "Night", "North", "Ocean",
    "Office", "Oil",    "Paper",  "Park",  "Peace",  "Plant",  "Queen",  "Rain",  "River", "Road",
    "Rock",   "School", "Sea",    "Ship",  "Sky",    "Star",   "Sun",    "Table", "Time",  "Tree",
    "Town",   "Union",  "Valley", "Voice", "War",    "Water",  "West",   "White", "Wind",  "Winter",
    "Wood",   "World",  "Year",   "Youth", "Zone",   "Big",    "Little", "Old",   "New",   "Red"};

}  // namespace

TaskTemplate acronym_template() {
  return {"acronym",
          "Acronym: the third letter of three words' acronym is the third word's first letter.",
          "García-Carrasco et al. 2024, How does GPT-2 Predict Acronyms?", "",
          [](const TokenizerCheck& words) -> PairMaker {
            std::vector<std::string> letters;
            for (char letter = 'A'; letter <= 'Z'; ++letter) {
              if (words.is_single(std::string(1, letter))) letters.emplace_back(1, letter);
            }
            if (letters.size() < 26) {
              words.refuse("expected 26 capitals of one token in the tokenizer, got " +
                           std::to_string(letters.size()));
            }
            const auto titles = words.single_token_words("words with a capital", title_words, 3);
            // The first two letters are a token each, as the third one.
            std::vector<std::pair<std::string, std::string>> firsts;
            for (const std::string& first : titles) {
              for (const std::string& second : titles) {
                const bool apart = words.n_token(std::string{first[0], second[0]}) == 2;
                if (first != second && apart) firsts.emplace_back(first, second);
              }
            }
            if (firsts.empty()) words.refuse("expected two initials of two tokens, got none");
            return [=](Draws& draws) -> TemplatePair {
              const auto& [first, second] = draws.one_of(firsts);
              std::string third = draws.one_of(titles), other = draws.one_of(letters);
              while (third == first || third == second) third = draws.one_of(titles);
              while (other[0] == third[0]) other = draws.one_of(letters);
              return {"The " + first + " " + second + " " + third + " (" + first[0] + second[0],
                      third.substr(0, 1), other};
            };
          }};
}

}  // namespace headscope
