#include "tasks/templates/template.hpp"

namespace headscope {
namespace {

const std::vector<std::string> spans_of_years{
    "war",      "journey",  "reign",      "siege",    "drought",   "peace",   "trial",
    "project",  "strike",   "search",     "plague",   "voyage",    "famine",  "dispute",
    "contract", "campaign", "expedition", "festival", "rebellion", "alliance"};

const std::vector<std::string> frames_of_years{
    "The {thing} lasted from the year {century}{begin} to the year {century}",
    "The {thing} began in the year {century}{begin} and ended in the year {century}",
    "Historians say that the {thing} went on from the year {century}{begin} until the year "
    "{century}"};

std::string two_digits(std::uint64_t number) {
  return std::string(number < 10 ? "0" : "") + std::to_string(number);
}

/// What may follow the century: years 02 to 98 that are one token, or, if the tokenizer writes
/// digits apart, their tens.
struct YearEnds {
  std::vector<std::string> numbers;
  bool digits = false;
};

YearEnds year_ends(const TokenizerCheck& words) {
  YearEnds ends;
  for (std::uint64_t year = 2; year <= 98; ++year) {
    if (words.is_single(two_digits(year))) ends.numbers.push_back(two_digits(year));
  }
  if (ends.numbers.size() >= 3) return ends;
  ends = {{}, true};
  for (char digit = '0'; digit <= '9'; ++digit) {
    const std::string text(1, digit);
    if (words.is_single(text) && words.n_token(text + "1") == 2) ends.numbers.push_back(text);
  }
  if (ends.numbers.size() < 3) {
    words.refuse("expected years of two digits, or digits, of one token in the tokenizer, got " +
                 std::to_string(ends.numbers.size()));
  }
  return ends;
}

/// A year in which a span begins.
struct YearBegin {
  std::string century, digits;
  std::size_t place = 0;  ///< of its year or tens in YearEnds::numbers, neither first nor last
};

/// Years whose last two digits are tokens of their own.
std::vector<YearBegin> year_begins(const TokenizerCheck& words, const YearEnds& ends) {
  std::vector<YearBegin> begins;
  for (int number = 11; number <= 17; ++number) {
    const std::string century = std::to_string(number);
    for (std::size_t place = 1; place + 1 < ends.numbers.size(); ++place) {
      for (const char* unit : {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}) {
        const std::string digits = ends.numbers[place] + (ends.digits ? unit : "");
        if (words.n_token(" " + century + digits) ==
            words.n_token(" " + century) + words.n_token(digits)) {
          begins.push_back({century, digits, place});
        }
        if (!ends.digits) break;
      }
    }
  }
  if (begins.empty()) words.refuse("expected years whose last two digits are tokens, got none");
  return begins;
}

}  // namespace

TaskTemplate greater_than_template() {
  return {"greater_than", "Greater than: a span of years ends after the year in which it began.",
          "Hanna et al. 2023, How does GPT-2 compute greater-than?", "",
          [](const TokenizerCheck& words) -> PairMaker {
            const auto things = words.single_token_words("spans of years", spans_of_years);
            const YearEnds ends = year_ends(words);
            const std::vector<YearBegin> begins = year_begins(words, ends);
            return [=](Draws& draws) -> TemplatePair {
              const YearBegin& begin = draws.one_of(begins);
              const std::uint64_t n = ends.numbers.size(),
                                  later = begin.place + 1 + draws.below(n - begin.place - 1),
                                  earlier = draws.below(begin.place);
              const std::string thing = draws.one_of(things), frame = draws.one_of(frames_of_years);
              return {
                  filled(frame,
                         {{"thing", thing}, {"century", begin.century}, {"begin", begin.digits}}),
                  ends.numbers[later], ends.numbers[earlier]};
            };
          }};
}

}  // namespace headscope
