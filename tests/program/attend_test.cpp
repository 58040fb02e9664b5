// `headscope attend`: what it prints and what it refuses. attend_test.py checks the numbers.

#include "program/program_test.hpp"

namespace headscope {
namespace {

const std::string sentence = "The cat sat on the mat. The cat";

/// What the page's script reads: everything but the provenance.
std::string data_of(const std::string& path) {
  const std::string page = test::read_file(path), begin = "id=\"head-data\">";
  const std::size_t from = page.find(begin);
  EXPECT_NE(from, page.npos) << path;
  return page.substr(from, page.find("</script>", from) - from);
}

void expect_attend_refused(const std::vector<std::string>& arguments, int exit_status,
                           const std::string& line) {
  const TemporaryDirectory folder;
  const std::string page = folder.file("a.html");
  std::vector<std::string> call{"attend", "--output", page};
  call.insert(call.end(), arguments.begin(), arguments.end());
  const Finished finished = run_headscope(call);
  EXPECT_EQ(finished.exit_status, exit_status);
  EXPECT_EQ(finished.err, "headscope: " + line + "\n");
  EXPECT_THAT(finished.out, IsEmpty());
  EXPECT_FALSE(fs::exists(page));
}

TEST(Attend, PrintsALinePerKindAndThePath) {
  const TemporaryDirectory folder;
  const std::string page = folder.file("a.html");
  const Finished finished = run_headscope({"attend", sentence, "--output", page});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err, IsEmpty());
  for (const char* const kind :
       {"Model             default-model.h5 has ", "Tokens            10: <|endoftext|> The cat",
        "Previous token    L", "Current token     ", "First token       L", "Earlier copies    ",
        "Induction-like    ", "From “cat”        L", "Next token        “",
        "“was” raised      L"}) {
    EXPECT_THAT("\n" + finished.out, HasSubstr(std::string("\n") + kind));
  }
  EXPECT_THAT(finished.out, testing::EndsWith("\n" + page + "\n"));
}

TEST(Attend, CutsALongSentenceInTheHeadingAtAWord) {
  const TemporaryDirectory folder;
  const std::string page = folder.file("a.html");
  const std::string begin =
      "When the children saw that the old dog and the young cat sat on the mat they";
  ASSERT_EQ(run_headscope({"attend", begin + " laughed aloud", "--output", page}).exit_status, 0);
  EXPECT_THAT(test::read_file(page), HasSubstr("“" + begin + " …”"));
}

TEST(Attend, SaysThatANextWordOfSeveralTokensIsReadAsItsFirst) {
  const TemporaryDirectory folder;
  const Finished finished = run_headscope(
      {"attend", sentence, "--next", "xylophonist", "--output", folder.file("a.html")});
  EXPECT_EQ(finished.exit_status, 0);
  EXPECT_THAT(finished.err, testing::MatchesRegex(
                                "headscope: warning: --next: \"xylophonist\" is [0-9]+ tokens; the "
                                "page is about the first, \".*\"\n"));
  EXPECT_THAT(
      run_headscope({"attend", sentence, "--next", "sat", "--output", folder.file("b.html")}).err,
      IsEmpty());
}

TEST(Attend, QuietPrintsThePathAlone) {
  const TemporaryDirectory folder;
  const std::string page = folder.file("a.html");
  EXPECT_EQ(run_headscope({"attend", "-q", "-o", page, sentence}).out, page + "\n");
}

TEST(Attend, WritesAttentionHtmlIntoTheCurrentFolder) {
  const TemporaryDirectory folder;
  const Finished finished = run_program({"sh", "-c", "cd \"$1\" && \"$2\" attend -q Cats sleep.",
                                         "sh", folder.path(), HEADSCOPE_BINARY});
  EXPECT_EQ(finished.out, "attention.html\n") << finished.err;
  EXPECT_TRUE(fs::exists(folder.file("attention.html")));
}

TEST(Attend, TakesWordsOneByOneOrFromStandardInput) {
  const TemporaryDirectory folder;
  const std::string whole = folder.file("a.html"), words = folder.file("b.html"),
                    input = folder.file("c.html");
  ASSERT_EQ(run_headscope({"attend", "The cat sat", "-o", whole}).exit_status, 0);
  ASSERT_EQ(run_headscope({"attend", "The", "cat", "sat", "-o", words}).exit_status, 0);
  const auto piped = [&](const std::string& text) {
    return run_program({"sh", "-c", "printf \"$3\" | \"$1\" attend - -o \"$2\"", "sh",
                        HEADSCOPE_BINARY, input, text});
  };
  EXPECT_EQ(data_of(words), data_of(whole));
  for (const char* const text : {"The cat sat\\n", "\\357\\273\\277The cat sat"}) {
    const Finished finished = piped(text);
    ASSERT_EQ(finished.exit_status, 0) << finished.err;
    EXPECT_EQ(data_of(input), data_of(whole)) << text;
  }
}

TEST(Attend, SaysNothingOfCopiesWhereNoTokenOccursTwice) {
  const TemporaryDirectory folder;
  const std::string page = folder.file("a.html");
  const std::string out = run_headscope({"attend", "Cats sleep", "-o", page}).out;
  EXPECT_THAT(out, Not(HasSubstr("Earlier copies")));
  EXPECT_THAT(out, Not(HasSubstr("Induction-like")));
}

TEST(Attend, ShowsSentencesOfOneToken) {
  const TemporaryDirectory folder;
  const std::string page = folder.file("a.html");
  const Finished finished = run_headscope({"attend", "--no-bos", "The", "-o", page});
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(data_of(page), HasSubstr("\"tokens\":[\"The\"]"));
}

TEST(Attend, SaysThatAModelHasNoHeadLeft) {
  const TemporaryDirectory folder;
  const std::string pruned = folder.file("pruned.h5");
  ASSERT_EQ(run_headscope({"prune", HEADSCOPE_TEST_DATA "/hub/snapshot", pruned, "--heads",
                           "L0H0,L0H1,L1H0,L1H1,L2H0,L2H1"})
                .exit_status,
            0);
  const Finished finished =
      run_headscope({"attend", sentence, "--model", pruned, "--output", folder.file("a.html")});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("\nHeads             the model has no head left\n"));
}

TEST(Attend, ShowsAnyBytesAsText) {
  const TemporaryDirectory folder;
  const std::string page = folder.file("a.html");
  const Finished finished =
      run_headscope({"attend", "</script><b> \xFF\x1B \xE2\x80\xAE", "-o", page});
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.out, Not(HasSubstr("\x1B")));
  EXPECT_THAT(data_of(page), HasSubstr("xFF"));
  EXPECT_THAT(test::read_file(page), Not(HasSubstr("<b>")));
}

TEST(Attend, WithoutAnythingGivesItsUsage) {
  const Finished finished = run_headscope({"attend"});
  EXPECT_EQ(finished.exit_status, 2);
  EXPECT_EQ(finished.err,
            "headscope: attend: expected a sentence, got none; usage: headscope attend TEXT...|- "
            "[--model FILE]\n");
}

TEST(Attend, RefusesAnEmptySentence) {
  for (const char* const empty : {"", "  \n"}) {
    expect_attend_refused({empty}, 2, "attend: expected a sentence, got none");
  }
  expect_attend_refused({}, 2, "attend: expected a sentence, got none");
}

TEST(Attend, RefusesASentenceLongerThanTheContext) {
  std::string text = "The";
  for (int i = 0; i < 2000; ++i) text += " cat";
  expect_attend_refused({text}, 2,
                        "attend: expected at most 192 tokens, the model's context, got 2002");
}

TEST(Attend, RefusesModelsThatCannotReadText) {
  const TemporaryDirectory folder;
  const std::string no_tokenizer = folder.file("model.h5"),
                    attention = HEADSCOPE_TEST_DATA "/tiny_flat/attention_only.h5";
  save_model(random_model(test::tiny_config(), 1), no_tokenizer);
  expect_attend_refused(
      {"x", "--model", no_tokenizer}, 1,
      no_tokenizer +
          ": expected a tokenizer with the model, got none; --tokenizer names its folder");
  expect_attend_refused(
      {"x", "--model", attention}, 1,
      attention +
          ": expected a complete model, got attention weights only (no token embedding "
          "or MLP)");
  expect_attend_refused({"x", "--model", folder.file("none.h5")}, 1,
                        folder.file("none.h5") + ": cannot be opened: No such file or directory");
}

TEST(Attend, RefusesAFolderAsThePage) {
  const TemporaryDirectory folder;
  const Finished finished = run_headscope({"attend", "x", "-o", folder.path()});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_THAT(finished.err, HasSubstr(folder.path() + ": "));
  EXPECT_THAT(finished.out, IsEmpty());
}

TEST(Attend, ReplacesNoFileButAPage) {
  const TemporaryDirectory folder;
  const std::string model = folder.file("model.h5"), page = folder.file("a.html"),
                    tokenizer = folder.file("merges.txt"), link = folder.file("link.html");
  fs::copy_file(HEADSCOPE_PROJECT_DIR "/data/planted-model.h5", model);
  fs::copy_file(HEADSCOPE_TEST_DATA "/tokenizer/merges.txt", tokenizer);
  fs::create_symlink(model, link);
  for (const std::string& output : {model, tokenizer, link}) {
    const std::string before = test::read_file(output);
    const Finished finished = run_headscope({"attend", "x", "--model", model, "-o", output});
    EXPECT_EQ(finished.exit_status, 1);
    EXPECT_EQ(finished.err, "headscope: " + output +
                                ": is there and is no HTML page; choose another file to write\n");
    EXPECT_EQ(test::read_file(output), before);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run_headscope({"attend", "x", "--model", model, "-o", page}).exit_status, 0);
  }
}

}  // namespace
}  // namespace headscope
