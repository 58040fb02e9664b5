#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "headscope/error.hpp"
#include "headscope/results.hpp"
#include "headscope/tasks.hpp"
#include "support/message_of.hpp"
#include "support/shared_data.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"
#include "support/word_tokenizer.hpp"
#include "tasks/templates/template.hpp"

namespace headscope {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

constexpr std::uint64_t n_pair_made = 300;

/// Words of every template that begin with a space, the beginnings of years, and numbers of two
/// digits.
std::vector<std::string> words_of_templates() {
  std::vector<std::string> texts;
  for (int century = 11; century <= 17; ++century) texts.push_back(" " + std::to_string(century));
  for (const std::string word :
       {"Mary",  "Anna",   "Sarah",  "Emily", "John",   "Tom",     "James",   "Michael", "store",
        "park",  "school", "market", "drink", "book",   "ring",    "letter",  "war",     "siege",
        "trial", "voyage", "she",    "he",    "friend", "teacher", "doctor",  "singer",  "good",
        "great", "kind",   "nice",   "fine",  "clever", "Army",    "Bank",    "City",    "Day",
        "Earth", "Fire",   "Gold",   "House", "boy",    "boys",    "girl",    "girls",   "king",
        "kings", "bird",   "birds",  "table", "tables", "garden",  "gardens", "river",   "rivers",
        "wall",  "walls",  "is",     "are",   "was",    "were",    "has",     "have"}) {
    texts.push_back(" " + word);
  }
  for (char tens = '0'; tens <= '9'; ++tens) {
    for (char ones = '0'; ones <= '9'; ++ones) texts.push_back({tens, ones});
  }
  return texts;
}

void expect_pairs_with_continuations_of_one_token(const Tokenizer& tokenizer) {
  const auto n_token = [&](const std::string& text) { return tokenizer.encode(text).ids.size(); };
  for (const TaskTemplate& task : task_templates()) {
    const std::vector<TemplatePair> made =
        template_pairs(task, tokenizer, {.n_pair = n_pair_made}).pairs;
    EXPECT_EQ(std::set<TemplatePair>(made.begin(), made.end()).size(), n_pair_made) << task.name;
    for (const TemplatePair& pair : made) {
      EXPECT_EQ(n_token(pair.good), 1U) << task.name << pair.good;
      EXPECT_EQ(n_token(pair.bad), 1U) << task.name << pair.bad;
      EXPECT_NE(pair.good, pair.bad);
      for (const std::string& side : {pair.good, pair.bad}) {
        TokenIds parts = tokenizer.encode(pair.prefix).ids;
        parts.push_back(tokenizer.encode(side).ids.front());
        EXPECT_EQ(tokenizer.encode(pair.prefix + side).ids, parts) << pair.prefix << side;
      }
      EXPECT_EQ(pair.prefix.find_first_of("{}"), std::string::npos) << pair.prefix;
    }
  }
}

/// Tests of the definitions, with a tokenizer of some of their words.
class TaskTemplates : public testing::Test {
 protected:
  std::vector<TemplatePair> pairs(const std::string& name, std::uint64_t seed = 0) const {
    return template_pairs(task_template(name), tokenizer_, {.n_pair = n_pair_made, .seed = seed})
        .pairs;
  }
  std::size_t n_token(const std::string& text) const { return tokenizer_.encode(text).ids.size(); }
  const Tokenizer tokenizer_ = Tokenizer(test::word_tokenizer_files(words_of_templates()));
};

/// How often a text occurs as a whole word.
std::size_t n_word(const std::string& text, const std::string& word) {
  const std::regex whole("\\b" + word + "\\b");
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), whole), std::sregex_iterator()));
}

/// About as often as not: 300 tosses of a coin stay within five standard deviations.
auto about_half() {
  return AllOf(Ge(n_pair_made / 2 - 44), Le(n_pair_made / 2 + 44));
}

TEST_F(TaskTemplates, PairsAreDifferentAndTheirContinuationsOneTokenEach) {
  expect_pairs_with_continuations_of_one_token(tokenizer_);
}

TEST(TaskTemplate, PairsForTheTokenizerOfGpt2AreDifferentAndTheirContinuationsOneTokenEach) {
  if (!std::filesystem::exists(test::shared_data + "/tokenizer")) {
    GTEST_SKIP() << "needs ../shared/data";
  }
  expect_pairs_with_continuations_of_one_token(
      Tokenizer::from_directory(test::shared_data + "/tokenizer"));
}

TEST_F(TaskTemplates, TheSeedDecides) {
  EXPECT_EQ(pairs("ioi"), pairs("ioi"));
  EXPECT_NE(pairs("ioi"), pairs("ioi", 1));
}

// Compilers evaluate the arguments of a call in different orders.
TEST_F(TaskTemplates, ASeedGivesTheSamePairsWithEveryCompiler) {
  EXPECT_EQ(pairs("ioi").front().prefix,
            "Mary and Tom spent a long day at the market, and Mary sold a drink to");
  EXPECT_EQ(pairs("greater_than").front().prefix,
            "The voyage lasted from the year 1195 to the year 11");
  EXPECT_EQ(pairs("gendered_pronoun").front().prefix, "So Tom is a really fine doctor, isn't");
}

// Wang et al. 2022, section 3: ABBA and BABA, in equal parts.
TEST_F(TaskTemplates, IoiNamesTheGiverTwiceAndTheReceiverOnce) {
  std::size_t n_receiver_first = 0;
  for (const TemplatePair& pair : pairs("ioi")) {
    const std::string receiver = pair.good.substr(1), giver = pair.bad.substr(1);
    EXPECT_EQ(n_word(pair.prefix, receiver), 1U) << pair.prefix;
    EXPECT_EQ(n_word(pair.prefix, giver), 2U) << pair.prefix;
    EXPECT_TRUE(pair.prefix.ends_with(" to"));
    n_receiver_first += pair.prefix.find(receiver) < pair.prefix.find(giver) ? 1 : 0;
  }
  EXPECT_THAT(n_receiver_first, about_half());
}

// Hanna et al. 2023, section 2: "from the year 17YY to the year 17"; later years are right. Years
// are two tokens.
TEST_F(TaskTemplates, GreaterThanEndsAfterTheYearOfTheBegin) {
  const std::regex years(R"(year (\d\d)(\d\d)\b.* year (\d\d)$)");
  for (const TemplatePair& pair : pairs("greater_than")) {
    std::smatch found;
    ASSERT_TRUE(std::regex_search(pair.prefix, found, years)) << pair.prefix;
    EXPECT_EQ(found[1], found[3]);
    EXPECT_GT(std::stoi(pair.good), std::stoi(found[2])) << pair.prefix;
    EXPECT_LT(std::stoi(pair.bad), std::stoi(found[2])) << pair.prefix;
    EXPECT_EQ(n_token(" " + found[1].str() + found[2].str()), 2U) << pair.prefix;
  }
}

// Mathwin et al. 2023: "So [name] is a really great friend, isn't".
TEST_F(TaskTemplates, GenderedPronounGivesEachNameOnePronoun) {
  std::map<std::string, std::set<std::string>> of_name;
  std::size_t n_she = 0;
  for (const TemplatePair& pair : pairs("gendered_pronoun")) {
    std::smatch found;
    ASSERT_TRUE(std::regex_search(pair.prefix, found, std::regex("([A-Z][a-z]+) is ")));
    of_name[found[1]].insert(pair.good);
    EXPECT_TRUE(pair.prefix.ends_with(", isn't"));
    n_she += pair.good == " she" ? 1 : 0;
    EXPECT_EQ(pair.bad, pair.good == " she" ? " he" : " she");
  }
  for (const auto& [name, pronouns] : of_name) EXPECT_EQ(pronouns.size(), 1U) << name;
  EXPECT_THAT(of_name.at("Emily"), testing::ElementsAre(" she"));
  EXPECT_THAT(of_name.at("Michael"), testing::ElementsAre(" he"));
  EXPECT_THAT(n_she, about_half());
}

// García-Carrasco et al. 2024, section 3: three words and their capitals, each a token.
TEST_F(TaskTemplates, AcronymEndsWithTheThirdWordsInitial) {
  const std::regex form(R"(^The ([A-Z])[a-z]+ ([A-Z])[a-z]+ ([A-Z])[a-z]+ \(([A-Z])([A-Z])$)");
  for (const TemplatePair& pair : pairs("acronym")) {
    std::smatch found;
    ASSERT_TRUE(std::regex_match(pair.prefix, found, form)) << pair.prefix;
    EXPECT_EQ(found[1], found[4]);
    EXPECT_EQ(found[2], found[5]);
    EXPECT_EQ(pair.good, found[3]);
    EXPECT_EQ(n_token(found[4].str() + found[5].str()), 2U);
  }
}

// After "(CA" every letter but A would be read as a token with the A.
TEST(TaskTemplate, PairsThatTheTokenizerJoinsOtherwiseAreLeftOut) {
  std::vector<std::string> texts = words_of_templates();
  for (char letter = 'B'; letter <= 'Z'; ++letter) texts.push_back({'A', letter});
  const Tokenizer tokenizer(test::word_tokenizer_files(texts));
  const TaskTemplate& task = task_template("acronym");
  const DrawnPairs made = template_pairs(task, tokenizer, {.n_pair = n_pair_made});
  EXPECT_GT(made.n_left_out, 0U);
  for (const TemplatePair& pair : made.pairs) EXPECT_NE(pair.prefix.back(), 'A');
  const std::string error =
      test::message_of([&] { template_pairs(task, tokenizer, {.n_pair = 100000}); });
  EXPECT_THAT(error, HasSubstr(" pairs left out: the tokenizer reads prefix and continuation "));
}

// Linzen et al. 2016: an attractor of the other number stands between subject and verb.
TEST_F(TaskTemplates, SubjectAndVerbAgreeAcrossAnAttractorOfTheOtherNumber) {
  const std::set<std::string> of_many{" are", " were", " have"};
  for (const TemplatePair& pair : pairs("sva")) {
    std::smatch found;
    ASSERT_TRUE(std::regex_match(pair.prefix, found, std::regex(R"(^The (\w+) \w+ the (\w+)$)")));
    const bool many = found[1].str().ends_with("s");
    EXPECT_NE(many, found[2].str().ends_with("s")) << pair.prefix;
    EXPECT_EQ(of_many.contains(pair.good), many) << pair.prefix << pair.good;
    EXPECT_NE(of_many.contains(pair.bad), many);
  }
  EXPECT_EQ(task_template("sva").relation, "nsubj");
}

TEST_F(TaskTemplates, PairsOfOneLengthHaveTheSameNumberOfTokens) {
  for (const TaskTemplate& task : task_templates()) {
    const std::vector<TemplatePair> made =
        template_pairs(task, tokenizer_, {.n_pair = 100, .one_length = true}).pairs;
    EXPECT_EQ(std::set<TemplatePair>(made.begin(), made.end()).size(), 100U) << task.name;
    const std::size_t length = n_token(made.front().prefix + made.front().good);
    for (const TemplatePair& pair : made) {
      EXPECT_EQ(n_token(pair.prefix + pair.good), length) << task.name << pair.prefix;
      EXPECT_EQ(n_token(pair.prefix + pair.bad), length) << task.name << pair.prefix;
    }
  }
}

TEST(TaskTemplate, TokenizersThatWriteDigitsApartGetTens) {
  // The rules of SmolLM2's tokenizer for words of the templates.
  TokenizerFiles files =
      read_tokenizer_files(HEADSCOPE_TEST_DATA "/tokenizer_families/smollm2.json");
  const TokenizerFiles words = test::word_tokenizer_files(words_of_templates());
  files.vocab_json = words.vocab_json;
  files.merges = words.merges;
  files.added_tokens = "";
  const Tokenizer tokenizer(files);
  EXPECT_EQ(tokenizer.encode("17").ids.size(), 2U);
  const std::regex years(R"(year (\d\d)(\d)(\d)\b.* year (\d\d)$)");
  for (const TemplatePair& pair :
       template_pairs(task_template("greater_than"), tokenizer, {.n_pair = n_pair_made}).pairs) {
    std::smatch found;
    ASSERT_TRUE(std::regex_search(pair.prefix, found, years)) << pair.prefix;
    EXPECT_GT(std::stoi(pair.good), std::stoi(found[2]));
    EXPECT_LT(std::stoi(pair.bad), std::stoi(found[2]));
  }
}

TEST(TaskTemplate, ErrorsNameWhatIsMissing) {
  const auto error_of = [](const std::vector<std::string>& arguments) {
    const test::Finished finished = test::run_headscope(arguments);
    EXPECT_NE(finished.exit_status, 0);
    EXPECT_EQ(finished.out, "");
    return finished.err;
  };
  EXPECT_EQ(
      error_of({"tasks", "oui"}),
      "headscope: TEMPLATE: expected one of ioi, greater_than, gendered_pronoun, acronym, sva, "
      "got oui\n");
  EXPECT_EQ(error_of({"tasks", "ioi", "--pairs", "0"}),
            "headscope: --pairs: expected a whole number from 1 to 1000000, got \"0\"\n");
  EXPECT_EQ(error_of({"tasks", "ioi", "--pairs", "1000001"}),
            "headscope: --pairs: expected a whole number from 1 to 1000000, got \"1000001\"\n");
  EXPECT_THAT(
      error_of({"tasks", "gendered_pronoun", "--pairs", "1000000"}),
      HasSubstr("the different pairs of gendered_pronoun with this tokenizer, got 1000000"));
  EXPECT_THAT(error_of({"tasks", "gendered_pronoun", "--pairs", "1000000", "--one-length"}),
              HasSubstr("the different pairs of gendered_pronoun of one length with this "
                        "tokenizer, got 1000000"));
  EXPECT_EQ(error_of({"tasks", "ioi", "--tokenizer", HEADSCOPE_TEST_DATA "/tokenizer"}),
            "headscope: ioi: expected at least 2 names of one token in the tokenizer, got 0 of "
            "40\n");
}

// What is written is read as a task, and a run finds its heads.
TEST(TaskTemplate, PairsOfTheDefaultModelsTokenizerAreATask) {
  const test::Finished finished =
      test::run_headscope({"tasks", "gendered_pronoun", "--pairs", "30"});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  const test::TemporaryDirectory folder;
  test::write_file(folder.file("pronoun.jsonl"), finished.out);
  const test::Finished run = test::run_headscope_without_gnuplot(
      {"run", "--tasks", folder.file("pronoun.jsonl"), "--analyses", "tasks", "--quiet", "--output",
       folder.file("out")});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const Results results = read_results(folder.file("out/results.h5"));
  const ResultsGroup& group = results.group("tasks");
  EXPECT_EQ(group.variable("n_pair").values(0), 30);
  EXPECT_EQ(group.variable("relation").text[0], task_template("gendered_pronoun").relation);
  EXPECT_EQ(group.dimensions.at("task").text[0], "gendered_pronoun");
}

}  // namespace
}  // namespace headscope
