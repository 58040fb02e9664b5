#include <memory>

#include "headscope/comparison.hpp"
#include "program/program_test.hpp"

namespace headscope {
namespace {

/// Finished runs of the weights of random models, and a place for what they are compared into.
class CompareCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    runs_ = std::make_unique<TemporaryDirectory>();
    make_run("a", 2, 1);
    make_run("b #2", 2, 2);
    make_run("wide", 4, 1);
  }
  static void TearDownTestSuite() { runs_.reset(); }

  static void make_run(const std::string& name, std::uint64_t n_head, std::uint64_t seed) {
    ModelConfig config = test::tiny_config();
    config.n_head = n_head;
    const std::string model = runs_->file(name + ".h5");
    save_model(random_model(config, seed), model);
    const Finished run = test::run_headscope_without_gnuplot(
        {"run", "--model", model, "--analyses", "circuits", "--nulls", "2", "--output",
         runs_->file(name), "--quiet"});
    ASSERT_EQ(run.exit_status, 0) << run.err;
  }

  Finished compare(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all{"compare", "--output", out_};
    all.insert(all.begin() + 1, arguments.begin(), arguments.end());
    return test::run_headscope_without_gnuplot(all);
  }

  ResultsGroup comparison() const { return read_results(out_ + "/results.h5").group("comparison"); }

  void expect_refused(const std::vector<std::string>& arguments, int exit_status,
                      const std::string& line) const {
    const Finished finished = compare(arguments);
    EXPECT_EQ(finished.exit_status, exit_status);
    EXPECT_EQ(finished.err, "headscope: " + line + "\n");
    EXPECT_FALSE(fs::exists(out_));
  }

  static inline std::unique_ptr<TemporaryDirectory> runs_;
  const std::string a_ = runs_->file("a"), b_ = runs_->file("b #2"), wide_ = runs_->file("wide"),
                    out_ = runs_->file("out");

  void TearDown() override { fs::remove_all(out_); }
};

TEST_F(CompareCommand, WritesResultsTablesFiguresAndAReportThatLinksTheRuns) {
  const Finished finished = run_headscope(
      {"compare", a_, b_ + "/results.h5", "--figures", "svg", "--output", out_, "--quiet"});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err, IsEmpty());
  const ResultsGroup group = comparison();
  EXPECT_THAT(group.dimensions.at("run").text, ElementsAre("a", "b #2"));
  const Results own = read_results(b_ + "/results.h5");
  EXPECT_EQ(group.variable("circuits_ov_copying").values.part(1).values,
            own.group("circuits").variable("ov_copying").values.values);
  EXPECT_TRUE(fs::exists(out_ + "/tables/comparison.circuits_ov_copying_difference.csv"));
  EXPECT_TRUE(fs::exists(out_ + "/figures/comparison_circuits_ov_copying_difference.svg"));
  const std::string page = test::read_file(out_ + "/report.html");
  EXPECT_THAT(page, HasSubstr("<h1>Comparison of a and b #2</h1>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"../a/report.html\">a</a>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"../b%20%232/report.html\">b #2</a>"));
  EXPECT_THAT(test::read_file(out_ + "/report.md"), HasSubstr("](../b%20%232/report.html)"));

  for (const char* const drawn : {"tables", "figures", "report.html", "report.md"}) {
    fs::remove_all(out_ + "/" + drawn);
  }
  ASSERT_EQ(run_headscope({"report", out_, "--figures", "svg"}).exit_status, 0);
  EXPECT_EQ(test::read_file(out_ + "/report.html"), page);
}

TEST_F(CompareCommand, SetsModelsOfAnyShapeAgainstTheirSize) {
  const Finished finished = compare({wide_, a_, "--by", "n_head"});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err,
              HasSubstr("headscope: warning: wide has 2 layers of 4 heads, a 2 layers of 2 heads; "
                        "heads are not compared one by one\n"));
  const ResultsGroup group = comparison();
  EXPECT_THAT(group.dimensions.at("run").text, ElementsAre("a", "wide"));
  EXPECT_THAT(group.variable("ordering").values.values, ElementsAre(2, 4));
  EXPECT_TRUE(group.has("qk_rank90_median"));
  EXPECT_FALSE(group.has("circuits_ov_copying"));
}

TEST_F(CompareCommand, OrdersRunsByEveryNumberThatItsHelpNames) {
  const std::string help = run_headscope({"compare", "--help"}).out;
  for (const char* const name :
       {"n_layer", "n_head", "n_kv_head", "d_model", "d_head", "d_mlp", "n_ctx", "d_vocab"}) {
    EXPECT_THAT(help, HasSubstr(name));
    EXPECT_EQ(compare({wide_, a_, "--by", name, "--quiet", "--force"}).exit_status, 0) << name;
  }
}

TEST_F(CompareCommand, OrdersRunsByTheNumbersOfTheirLabels) {
  const Finished finished =
      compare({a_, b_, "--label", "100", "3.5", "--by", "% of training", "--quiet"});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  const ResultsGroup group = comparison();
  EXPECT_THAT(group.dimensions.at("run").text, ElementsAre("3.5", "100"));
  EXPECT_THAT(group.variable("ordering").values.values, ElementsAre(3.5, 100));
  EXPECT_THAT(group.variable("ordering_name").text, ElementsAre("% of training"));
  EXPECT_EQ(group.variable("ordering").long_name,
            "Place of the run along the ordering: % of training");
}

TEST_F(CompareCommand, OrdersRunsByTheirLabelsWhateverElseResultsState) {
  ASSERT_EQ(compare({a_, b_, "--label", "7", "3", "--by", "seed", "--quiet"}).exit_status, 0);
  EXPECT_THAT(comparison().variable("ordering").values.values, ElementsAre(3, 7));
}

TEST_F(CompareCommand, OneRunTwiceHasTwoLabels) {
  ASSERT_EQ(compare({a_, a_, "--quiet"}).exit_status, 0);
  EXPECT_THAT(comparison().dimensions.at("run").text, ElementsAre(a_, a_ + " (2)"));
}

TEST_F(CompareCommand, NotesOptionsThatDiffer) {
  const std::string raw = runs_->file("raw");
  const Finished run = test::run_headscope_without_gnuplot(
      {"run", "--model", runs_->file("a.h5"), "--analyses", "circuits", "--nulls", "3", "--no-fold",
       "--output", raw, "--quiet"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(compare({a_, raw}).err,
              HasSubstr("headscope: warning: raw was run with --no-fold, a without --no-fold\n"
                        "headscope: warning: raw was run with --nulls 3, a with --nulls 2\n"));
  EXPECT_THAT(comparison().variable("circuits_ov_copying").long_name,
              EndsWith("; this is the first run's definition, another run has another"));
}

TEST_F(CompareCommand, RefusesWrongUsage) {
  expect_refused({}, 2, "compare: expected two or more finished runs, got none");
  expect_refused({a_}, 2, "compare: expected at least 2 runs, got 1");
  expect_refused({a_, b_, "--label", "x"}, 2,
                 "--label: expected 2 labels, one for each run, got 1");
  expect_refused({a_, b_, "--label", "x", "x"}, 2,
                 "--label: expected a different label for each run, got \"x\" twice");
  expect_refused({a_, b_, "--by", "step"}, 2,
                 "--by: expected a number as the label of " + a_ + "/results.h5, got \"a\"");
  EXPECT_EQ(compare({a_, b_, "--label", "1", "2", "--by", "date", "--quiet"}).exit_status, 0);
  fs::remove_all(out_);
  const std::string before = test::read_file(b_ + "/results.h5");
  const Finished over = run_headscope({"compare", a_, b_, "--output", b_ + "/"});
  EXPECT_EQ(over.exit_status, 2);
  EXPECT_EQ(over.err, "headscope: --output: expected another folder than that of a run, got \"" +
                          b_ + "/\"\n");
  EXPECT_EQ(test::read_file(b_ + "/results.h5"), before);
}

TEST_F(CompareCommand, ReplacesResultsAndReportsOnlyByForce) {
  fs::copy(wide_, out_, fs::copy_options::recursive);
  const std::string before = test::read_file(out_ + "/results.h5");
  const Finished refused = compare({a_, b_, "--quiet"});
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_EQ(refused.err, "headscope: " + out_ +
                             ": holds the results of a finished run; --force replaces them, or "
                             "choose another folder\n");
  EXPECT_EQ(test::read_file(out_ + "/results.h5"), before);
  EXPECT_EQ(compare({a_, b_, "--quiet", "--force"}).exit_status, 0);
  EXPECT_EQ(comparison().labels("run").size(), 2U);
  fs::remove(out_ + "/results.h5");
  test::write_file(out_ + "/report.md", "mine");
  EXPECT_THAT(compare({a_, b_}).err, HasSubstr("no run wrote it; --force replaces the file"));
  EXPECT_EQ(test::read_file(out_ + "/report.md"), "mine");
}

TEST_F(CompareCommand, RefusesResultsWhoseVariablesHaveOtherDimensions) {
  Results forged = read_results(a_ + "/results.h5");
  for (Variable& variable : forged.group("circuits").variables) {
    if (variable.name == "ov_copying") {
      variable.dimensions = {"head"};
      variable.values = variable.values.part(0);
      variable.interval.reset();
    }
  }
  fs::create_directories(runs_->file("forged"));
  const std::string file = runs_->file("forged/results.h5"),
                    why = file +
                          ":circuits/ov_copying: expected the dimensions layer, head, got head";
  write_results(forged, file);
  expect_refused({a_, runs_->file("forged")}, 1, why);
  EXPECT_EQ(run_headscope({"report", runs_->file("forged")}).err, "headscope: " + why + "\n");
  EXPECT_EQ(run_headscope({"inspect", file}).err, "headscope: " + why + "\n");
}

TEST_F(CompareCommand, ReportsNameTheForgedVariableOrDoWithoutIt) {
  ASSERT_EQ(compare({a_, b_, "--quiet"}).exit_status, 0);
  const std::string file = out_ + "/results.h5";
  const Results whole = read_results(file);
  const auto report_with = [&](const std::string& name, Variable changed) {
    Results forged = whole;
    ResultsGroup& group = forged.group("comparison");
    std::erase_if(group.variables, [&](const Variable& each) { return each.name == name; });
    changed.name = name;
    group.variables.push_back(std::move(changed));
    write_results(forged, file);
    return run_headscope({"report", out_, "--figures", "svg"});
  };
  struct Forgery {
    std::string variable;
    std::string refusal;  // empty where the report leaves out the variable's figure or sentence
  };
  const Variable number = Declaration{"number", "", "1", "A number"}.of(Array(Shape{}, 1.0));
  for (const auto& [name, refusal] :
       {Forgery{"qk_rank90_median",
                " variable qk_rank90_median: expected numbers by run, got another"},
        Forgery{"circuits_ov_copying_difference",
                " variable circuits_ov_copying_difference: expected numbers by run, got another"},
        Forgery{"ordering", " runs: expected 1, got 2"},
        Forgery{"ordering_name", ": expected text in ordering_name, got numbers"},
        Forgery{"n_layer", ""}, Forgery{"type_transition", ""}}) {
    const Finished report = report_with(name, number);
    EXPECT_EQ(report.exit_status, refusal.empty() ? 0 : 1) << name;
    EXPECT_EQ(report.err,
              refusal.empty() ? "" : "headscope: " + file + ": results comparison" + refusal + "\n")
        << name;
  }
}

TEST_F(CompareCommand, RefusesRunsThatAreNotWhole) {
  const std::string missing = runs_->file("none"), damaged = runs_->file("damaged.h5");
  expect_refused({a_, missing}, 1, missing + ": cannot be opened: No such file or directory");
  std::string bytes = test::read_file(a_ + "/results.h5");
  bytes.resize(bytes.size() / 2);
  test::write_file(damaged, bytes);
  const Finished finished = compare({a_, damaged});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_THAT(finished.err, testing::StartsWith("headscope: " + damaged + ": "));
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1);
  EXPECT_FALSE(fs::exists(out_));
}

}  // namespace
}  // namespace headscope
