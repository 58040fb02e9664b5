#include "headscope/tasks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "files/sha256.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"
#include "support/word_tokenizer.hpp"

namespace headscope {
namespace {

const Tokenizer& tasks_tokenizer() {
  static const Tokenizer instance =
      Tokenizer::from_directory(std::string(HEADSCOPE_PROJECT_DIR) + "/data/tokenizer");
  return instance;
}

class TaskFilesTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    test::write_file(folder_.file(name), bytes);
    return folder_.file(name);
  }
  std::string error_of(const std::string& bytes) {
    const std::string path = write("t.jsonl", bytes);
    return test::message_of([&] { TaskFiles({path}, tasks_tokenizer(), {}); });
  }
  std::vector<Task> read(const std::string& bytes, const TaskOptions& options = {}) {
    return TaskFiles({write("t.jsonl", bytes)}, tasks_tokenizer(), options).tasks();
  }
  /// The text of a side, without `<|endoftext|>`.
  static std::string text_of(const TokenIds& side) {
    EXPECT_EQ(side.front(), tasks_tokenizer().first_token());
    return tasks_tokenizer().decode(TokenIds(side.begin() + 1, side.end()));
  }

  test::TemporaryDirectory folder_;
};

TEST_F(TaskFilesTest, ReadsBothForms) {
  const std::vector<Task> tasks = read(
      R"({"sentence_good": "The cat runs.", "sentence_bad": "The cat run.", "UID": "agreement", "pair_id": 7})"
      "\n\n"
      R"({"prefix": "Anna said that", "good": " she", "bad": " he", "task": "gender", "relation": "nsubj"})"
      "\r\n"
      R"({"prefix": "", "good": "A", "bad": "An"})");
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[0].name, "agreement");
  EXPECT_EQ(tasks[0].relation, "");
  EXPECT_EQ(text_of(tasks[0].pairs.at(0).good), "The cat runs.");
  EXPECT_EQ(text_of(tasks[0].pairs.at(0).bad), "The cat run.");
  EXPECT_EQ(tasks[1].name, "gender");
  EXPECT_EQ(tasks[1].relation, "nsubj");
  EXPECT_EQ(text_of(tasks[1].pairs.at(0).good), "Anna said that she");
  EXPECT_EQ(text_of(tasks[1].pairs.at(0).bad), "Anna said that he");
  EXPECT_EQ(tasks[2].name, "t");
}

// Llama's tokenizers put a space before a text, not before what follows its beginning.
TEST_F(TaskFilesTest, BothFormsOfAPairHaveTheSameTokens) {
  const std::string path =
      write("t.jsonl", R"({"prefix": "The cat", "good": " is", "bad": "s", "task": "a"})"
                       "\n"
                       R"({"sentence_good": "The cat is", "sentence_bad": "The cats"})");
  for (const std::string family : {"neox", "llama3", "llama2", "mistral", "metaspace"}) {
    const Tokenizer tokenizer = Tokenizer::from_directory(
        std::string(HEADSCOPE_TEST_DATA) + "/tokenizer_families/" + family + ".json");
    const std::vector<Task> tasks = TaskFiles({path}, tokenizer, {}).tasks();
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_EQ(tasks[0].pairs.at(0).good, tasks[1].pairs.at(0).good) << family;
    EXPECT_EQ(tokenizer.decode(tasks[0].pairs.at(0).bad),
              tokenizer.decode(tasks[1].pairs.at(0).bad))
        << family;
  }
}

TEST_F(TaskFilesTest, SharedTokensEndWhereTheSidesDiffer) {
  for (const Task& task :
       read(R"({"sentence_good": "The cat runs far.", "sentence_bad": "The cat run far."})"
            "\n"
            R"({"prefix": "The cat", "good": " runs", "bad": " runs far", "task": "longer"})")) {
    const TaskPair& pair = task.pairs.at(0);
    ASSERT_GE(pair.n_shared, 1U);
    for (Index t = 0; t < pair.n_shared; ++t) EXPECT_EQ(pair.good[t], pair.bad[t]);
    if (task.name == "longer") {
      EXPECT_EQ(pair.n_shared, pair.good.size());
    } else {
      EXPECT_NE(pair.good.at(pair.n_shared), pair.bad.at(pair.n_shared));
    }
  }
}

TEST_F(TaskFilesTest, PairsOfTheSameTokensOrTooLongAreCounted) {
  const std::string same = R"({"prefix": "a", "good": " b", "bad": " b"})"
                           "\n",
                    kept = R"({"prefix": "a", "good": " b", "bad": " c"})"
                           "\n",
                    longer = R"({"prefix": "a b c d e f g h", "good": " b", "bad": " c"})"
                             "\n";
  const Task task = read(same + kept + longer + longer + kept, {.max_tokens = 5}).at(0);
  EXPECT_EQ(task.n_same, 1U);
  EXPECT_EQ(task.n_too_long, 2U);
  EXPECT_EQ(task.pairs.size(), 2U);
  EXPECT_EQ(read(kept + kept + kept, {.max_pairs = 2}).at(0).pairs.size(), 2U);
}

TEST_F(TaskFilesTest, PairsThatRepeatAnEarlierOneOfTheTaskAreCounted) {
  const std::string pair = R"({"prefix": "a", "good": " b", "bad": " c"})"
                           "\n",
                    turned = R"({"prefix": "a", "good": " c", "bad": " b"})"
                             "\n",
                    other_bad = R"({"prefix": "a", "good": " b", "bad": " d"})"
                                "\n",
                    sentences = R"({"sentence_good": "a b", "sentence_bad": "a c"})"
                                "\n",
                    other_task = R"({"task": "u", "prefix": "a", "good": " b", "bad": " c"})"
                                 "\n";
  EXPECT_EQ(read(pair + turned + other_bad + other_task).at(0).n_copy, 0U);
  const std::vector<Task> tasks = read(pair + turned + other_task + pair + sentences);
  EXPECT_EQ(tasks.at(0).pairs.size(), 4U);
  EXPECT_EQ(tasks.at(0).n_copy, 2U);
  EXPECT_EQ(tasks.at(1).n_copy, 0U);
}

TEST_F(TaskFilesTest, ATaskWithoutAPairThatCanBeRunIsRefused) {
  const std::string same = R"({"prefix": "a", "good": " b", "bad": " b"})"
                           "\n",
                    longer = R"({"prefix": "a b c d e f g h", "good": " b", "bad": " c"})"
                             "\n",
                    kept = R"({"prefix": "a", "good": " b", "bad": " c", "task": "t"})";
  const auto error = [&](const std::string& bytes) {
    return test::message_of([&] { read(bytes, {.max_tokens = 5, .max_pairs = 1}); });
  };
  EXPECT_EQ(error(same + longer + longer),
            folder_.file("t.jsonl") +
                ":t: expected pairs of different sides of at most 5 tokens, got 1 pair of equal "
                "sides and 2 too long");
  EXPECT_EQ(error(same + longer + kept), "no error") << "the task is named t as the file";
  // Another task of the file can be run.
  const std::string other = R"({"prefix": "a", "good": " b", "bad": " b", "task": "other"})"
                            "\n";
  EXPECT_EQ(error(other + kept),
            folder_.file("t.jsonl") +
                ":other: expected pairs of different sides of at most 5 tokens, got 1 pair of "
                "equal sides and 0 too long");
  // Pairs beyond the number asked for are neither.
  EXPECT_EQ(TaskFiles({write("u.jsonl", kept), write("v.jsonl", kept)}, tasks_tokenizer(),
                      {.max_pairs = 1})
                .tasks()[0]
                .pairs.size(),
            1U);
}

TEST_F(TaskFilesTest, WithoutAFirstTokenSidesBeginWithTheirText) {
  const std::string shared = R"({"prefix": "The cat", "good": " runs", "bad": " run"})"
                             "\n",
                    differs = R"({"sentence_good": "Who left?", "sentence_bad": "What left?"})"
                              "\n",
                    at_first = R"({"prefix": "", "good": "The cat", "bad": "A cat"})";
  const TaskOptions without{.prepend_bos = false};
  const std::string path = write("t.jsonl", shared + differs + at_first);
  const TaskFiles files({path}, tasks_tokenizer(), without), usual({path}, tasks_tokenizer(), {});
  EXPECT_FALSE(files.has_bos());
  EXPECT_TRUE(usual.has_bos());
  const Task &task = files.tasks().at(0), &with = usual.tasks().at(0);
  EXPECT_EQ(with.n_unpredicted, 0U);
  EXPECT_EQ(with.pairs.size(), 3U);
  const TaskPair &pair = task.pairs.at(0), &expected = with.pairs.at(0);
  EXPECT_EQ(pair.good, TokenIds(expected.good.begin() + 1, expected.good.end()));
  EXPECT_EQ(pair.bad, TokenIds(expected.bad.begin() + 1, expected.bad.end()));
  EXPECT_EQ(pair.n_shared, expected.n_shared - 1);
  // What begins both sides of the second pair may be a token.
  EXPECT_EQ(task.pairs.size() + task.n_unpredicted, 3U);
  EXPECT_GE(task.n_unpredicted, 1U);
  EXPECT_EQ(test::message_of([&] { read(at_first, without); }),
            path +
                ":t: expected pairs of different sides of at most 1024 tokens, got 0 pairs of "
                "equal sides and 0 too long, and 1 that differ at their first token, which nothing "
                "precedes");
}

TEST_F(TaskFilesTest, ATokenizerWithoutAFirstTokenReadsPairsWithoutIt) {
  const Tokenizer tokenizer(test::byte_vocabulary_json(), "", "tokens");
  const std::string path = write("t.jsonl", R"({"prefix": "a", "good": "b", "bad": "c"})");
  EXPECT_THROW(TaskFiles({path}, tokenizer, {}), DataError);
  const TaskPair pair = TaskFiles({path}, tokenizer, {.prepend_bos = false}).tasks()[0].pairs[0];
  EXPECT_EQ(pair.good, (TokenIds{'a', 'b'}));
  EXPECT_EQ(pair.bad, (TokenIds{'a', 'c'}));
}

TEST_F(TaskFilesTest, AFileIsReadOnce) {
  const std::string path = write("t.jsonl", R"({"prefix": "a", "good": " b", "bad": " c"})");
  for (const std::string& same : {path, folder_.file("./t.jsonl")}) {
    EXPECT_EQ(test::message_of([&] {
                TaskFiles({path, same}, tasks_tokenizer(), {});
              }),
              same + ": expected once among the tasks, got twice");
  }
}

TEST_F(TaskFilesTest, PairsThatDifferAtTheFirstWordAreMarked) {
  const auto differs = [&](const std::string& good, const std::string& bad) {
    return read(R"({"sentence_good": ")" + good + R"(", "sentence_bad": ")" + bad + R"("})")
        .at(0)
        .pairs.at(0)
        .differs_at_first_word;
  };
  EXPECT_TRUE(differs("Who left?", "What left?"));
  EXPECT_TRUE(differs("Girls left.", "Girl left."));
  EXPECT_FALSE(differs("The girls left.", "The girl left."));
  EXPECT_FALSE(differs("The", "The girl"));
  EXPECT_FALSE(read(R"({"prefix": "The", "good": " cat", "bad": " dog"})")
                   .at(0)
                   .pairs.at(0)
                   .differs_at_first_word);
  EXPECT_TRUE(read(R"({"prefix": "", "good": "Cats", "bad": "Dogs"})")
                  .at(0)
                  .pairs.at(0)
                  .differs_at_first_word);
}

TEST_F(TaskFilesTest, AFolderStandsForItsFilesAndATaskMayContinueInAnother) {
  std::filesystem::create_directory(folder_.file("d"));
  write("d/b.jsonl", R"({"prefix": "a", "good": " b", "bad": " c", "task": "x"})");
  write("d/a.jsonl", R"({"prefix": "a", "good": " d", "bad": " e", "task": "x"})");
  write("d/other.txt", "no pairs");
  const TaskFiles files({folder_.file("d")}, tasks_tokenizer(), {});
  ASSERT_EQ(files.tasks().size(), 1U);
  ASSERT_EQ(files.tasks()[0].pairs.size(), 2U);
  EXPECT_EQ(text_of(files.tasks()[0].pairs[0].good), "a d");
  const TaskFiles one({folder_.file("d/a.jsonl")}, tasks_tokenizer(), {});
  EXPECT_EQ(one.sha256(), file_sha256(folder_.file("d/a.jsonl")));
  EXPECT_NE(files.sha256(), one.sha256());
}

TEST_F(TaskFilesTest, AFolderStandsForFilesNamedInCapitalsToo) {
  std::filesystem::create_directory(folder_.file("d"));
  write("d/a.jsonl", R"({"prefix": "a", "good": " b", "bad": " c", "task": "x"})");
  write("d/B.JSONL", R"({"prefix": "a", "good": " d", "bad": " e", "task": "y"})");
  EXPECT_EQ(TaskFiles({folder_.file("d")}, tasks_tokenizer(), {}).tasks().size(), 2U);
}

TEST_F(TaskFilesTest, MalformedLinesAreNamed) {
  const std::string good = R"({"prefix": "a", "good": " b", "bad": " c"})"
                           "\n",
                    at = folder_.file("t.jsonl") + ":2: ";
  EXPECT_EQ(error_of(good + "{\"prefix\": "),
            at + "expected a JSON object, got unfinished or other text");
  EXPECT_EQ(error_of(good + "[1]"), at + "expected a JSON object, got array");
  EXPECT_EQ(error_of(good + R"({"prefix": "a", "prefix": "b", "good": "c", "bad": "d"})"),
            at + "expected a JSON object, got the key \"prefix\" twice");
  EXPECT_EQ(error_of(good + R"({"prefix": "\ud83d", "good": "c", "bad": "d"})"),
            at + "expected a JSON object, got a lone surrogate, half of a character");
  EXPECT_EQ(error_of(good + "{\"prefix\": \"\xFF\", \"good\": \"c\", \"bad\": \"d\"}"),
            at + "expected UTF-8, got byte 255 at column 13");
  EXPECT_EQ(error_of(good + R"({"good": "a", "bad": "b"})"),
            at + "expected the fields sentence_good and sentence_bad, or prefix, good and bad");
  EXPECT_EQ(error_of(good + R"({"sentence_good": "a"})"),
            at + "expected the field sentence_bad, got none");
  EXPECT_EQ(error_of(good + R"({"prefix": "a", "good": "b"})"),
            at + "expected the field bad, got none");
  EXPECT_EQ(error_of(good + R"({"prefix": "a", "good": "b", "bad": 3})"),
            at + "expected text in bad, got number");
  EXPECT_EQ(error_of(good + R"({"prefix": "a", "good": "", "bad": "c"})"),
            at + "expected text in good, got none");
  EXPECT_EQ(error_of(good + R"({"prefix": "a", "good": "b", "bad": "c", "relation": "nsubj"})"),
            at + "expected the relation of the task's other pairs, none, got nsubj");
  EXPECT_EQ(error_of("\n \n"), folder_.file("t.jsonl") + ": expected a pair a line, got none");
  EXPECT_EQ(test::message_of([&] { TaskFiles({folder_.file("none")}, tasks_tokenizer(), {}); }),
            folder_.file("none") + ": cannot be opened: No such file or directory");
}

TEST_F(TaskFilesTest, APipeIsNamed) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(test::message_of([&] { TaskFiles({path}, tasks_tokenizer(), {}); }),
            path + ": expected a file, got a pipe or device");
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace headscope
