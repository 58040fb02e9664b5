#include "program/program_test.hpp"

namespace headscope {
namespace {

// Text that a shell, gnuplot or a browser would interpret; without a slash it is a valid file name.
const std::string hostile =
    "x'; system('touch pwned') #\"$(touch pwned)`touch pwned`@pwned %s <img src=pwned "
    "onerror=alert(1)><script>alert(1)<script> &amp; \\\\ {^_|} ]]> \x1b[31m \u202E";
const std::string formula = "=1+1";

std::string conllu_line(int id, const std::string& form, int head, const std::string& misc) {
  const std::string number = std::to_string(id);
  return number + "\t" + form + "\t" + form + "\tNOUN\tNN\t_\t" + std::to_string(head) + "\t" +
         (head == 0 ? "root" : hostile) + "\t_\t" + misc + "\n";
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  return files;
}

// One run of every analysis; every name and word is hostile.
class HostileText : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryDirectory;
    ModelConfig config = test::config_of(
        {.n_layer = 2, .n_head = 2, .d_model = 16, .d_mlp = 32, .n_ctx = 48, .d_vocab = 600});
    const std::string model = folder_->file(hostile + "\n.h5");
    save_model(random_model(config, 1), model);
    std::string corpus = "# newdoc id = " + hostile + "\n# global.Entity = eid-etype-head\n";
    corpus += conllu_line(1, hostile, 2, "Entity=(" + std::string("e1-<b>`x`-1)"));
    corpus += conllu_line(2, "<script>", 0, "Entity=(e1-<b>`x`-1)");
    corpus += conllu_line(3, "$(touch", 2, "_");
    corpus += "4\tx\tx\tNOUN\tNN\t_\t2\t" + formula + "\t_\t_\n\n";
    const std::string text = folder_->file(hostile + ".conllu");
    test::write_file(text, corpus + corpus);
    finished_ = new test::Finished(test::run_headscope(
        {"run", "--model", model, "--corpus", text, "--tokenizer",
         std::string(HEADSCOPE_TEST_DATA) + "/tokenizer", "--patterns", "2", "--bootstrap", "10",
         "--nulls", "5", "--figures", "svg", "--output", output()}));
  }
  static void TearDownTestSuite() {
    delete finished_;
    delete folder_;
  }
  static std::string output() { return folder_->file("out $(touch pwned) 'a' \"b\" `c`"); }

  static test::TemporaryDirectory* folder_;
  static test::Finished* finished_;
};

test::TemporaryDirectory* HostileText::folder_ = nullptr;
test::Finished* HostileText::finished_ = nullptr;

TEST_F(HostileText, RunsNothing) {
  ASSERT_EQ(finished_->exit_status, 0) << finished_->err;
  EXPECT_FALSE(fs::exists("pwned"));
  for (const std::string& file : files_below(folder_->path())) {
    EXPECT_NE(fs::path(file).filename(), "pwned") << file;
  }
}

TEST_F(HostileText, IsTextInTheReportAndTheFigures) {
  ASSERT_EQ(finished_->exit_status, 0) << finished_->err;
  std::size_t n_page = 0;
  for (const std::string& file : files_below(output())) {
    const std::string extension = fs::path(file).extension();
    if (extension != ".html" && extension != ".svg") continue;
    ++n_page;
    const std::string page = test::read_file(file);
    EXPECT_THAT(page, Not(HasSubstr("<img src=pwned"))) << file;
    EXPECT_THAT(page, Not(HasSubstr("<script>alert"))) << file;
  }
  EXPECT_GT(n_page, 1U);
  const std::string report = test::read_file(output() + "/report.html");
  EXPECT_THAT(report, HasSubstr("&lt;img src=pwned onerror=alert(1)&gt;"));
}

TEST_F(HostileText, DoesNotEndTheTextOfAFigureOrSetADirection) {
  ASSERT_EQ(finished_->exit_status, 0) << finished_->err;
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
    return n;
  };
  for (const std::string& file : files_below(output())) {
    if (fs::path(file).extension() == ".h5") continue;
    const std::string text = test::read_file(file);
    EXPECT_EQ(count(text, "\u202E") + count(text, "\x1b"), 0U) << file;
    if (fs::path(file).extension() != ".svg") continue;
    EXPECT_EQ(count(text, "]]>"), 0U) << file;
  }
  EXPECT_THAT(finished_->err, Not(HasSubstr("\x1b")));
}

TEST_F(HostileText, IsNoFormulaInATable) {
  bool found = false;
  for (const std::string& file : files_below(output() + "/tables")) {
    const std::string table = test::read_file(file);
    EXPECT_THAT(table, Not(HasSubstr("\n" + formula))) << file;
    EXPECT_THAT(table, Not(HasSubstr("," + formula))) << file;
    found = found || table.find("'" + formula) != table.npos;
  }
  EXPECT_TRUE(found);
}

TEST_F(HostileText, IsShownHarmlessByInspect) {
  for (const auto& entry : fs::directory_iterator(folder_->path())) {
    if (!entry.is_regular_file()) continue;
    const test::Finished shown = test::run_headscope({"inspect", entry.path().string()});
    EXPECT_EQ(shown.exit_status, 0) << shown.err;
    EXPECT_THAT(shown.out, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\u202E"))));
  }
  const test::Finished results = test::run_headscope({"inspect", output() + "/results.h5"});
  EXPECT_EQ(results.exit_status, 0) << results.err;
  EXPECT_THAT(results.out, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\u202E"))));
}

TEST_F(HostileText, IsTextInTheMarkdown) {
  ASSERT_EQ(finished_->exit_status, 0) << finished_->err;
  const std::string report = test::read_file(output() + "/report.md");
  EXPECT_THAT(report, HasSubstr("\\<img src=pwned"));
  for (const char* const unescaped : {"<img src=pwned", "<script>alert"}) {
    for (std::size_t at = report.find(unescaped); at != std::string::npos;
         at = report.find(unescaped, at + 1)) {
      EXPECT_TRUE(at > 0 && report[at - 1] == '\\') << report.substr(at, 40);
    }
  }
}

TEST_F(HostileText, IsOneLineOfAnErrorMessage) {
  const test::Finished finished =
      test::run_headscope({"inspect", folder_->file("none\n\x1b[31m\xff.h5")});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1);
  EXPECT_THAT(finished.err, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace headscope
