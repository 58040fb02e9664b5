#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "headscope/results.hpp"
#include "option_parser.hpp"
#include "program/program_test.hpp"
#include "run_setup.hpp"
#include "support/message_of.hpp"
#include "support/token_corpus.hpp"

namespace headscope {
namespace {

Words resumable_arguments(const std::string& output, const Words& more = {}) {
  Words arguments{"run",
                  "--model",
                  HEADSCOPE_PROJECT_DIR "/data/planted-model.h5",
                  "--corpus",
                  HEADSCOPE_PROJECT_DIR "/data/stories.conllu",
                  "--analyses",
                  "pruning,classification,correlation,attention",
                  "--max-documents",
                  "5",
                  "--prune-documents",
                  "3",
                  "--ablate-documents",
                  "2",
                  "--patterns",
                  "2",
                  "--bootstrap",
                  "20",
                  "--explain-documents",
                  "1",
                  "--threads",
                  "1",
                  "--engine",  // a trial in each folder need not choose the same one
                  "float32",
                  "--save-every",
                  "1",
                  "--output",
                  output};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void replace(Words& arguments, const std::string& option, const std::string& value) {
  *(std::find(arguments.begin(), arguments.end(), option) + 1) = value;
}

/// Sets the options of resumable_arguments, of correlation alone.
void set_correlation_run(const std::string& output, const Words& more, RunOptions& options) {
  Words arguments = resumable_arguments(output, more);
  arguments.erase(arguments.begin());
  replace(arguments, "--analyses", "correlation");
  ASSERT_TRUE(parse_options("run", arguments, options.table));
}

/// For tests whose claim holds of any analysis: of correlation alone, on enough documents that the
/// run has not ended when its first has been saved and a signal arrives.
Words short_arguments(const std::string& output, const Words& more = {}) {
  Words arguments = resumable_arguments(output, more);
  replace(arguments, "--analyses", "correlation");
  replace(arguments, "--max-documents", "30");
  return arguments;
}

Finished run_resumable(const std::string& output, const Words& more = {}) {
  return test::run_headscope_without_gnuplot(resumable_arguments(output, more));
}

/// Results of the uninterrupted run, computed once.
const Results& uninterrupted() {
  static const Results results = [] {
    const TemporaryDirectory folder;
    const Finished finished = run_resumable(folder.path());
    EXPECT_EQ(finished.exit_status, 0) << finished.err;
    EXPECT_FALSE(fs::exists(folder.file("shards"))) << "left behind by a run that is complete";
    return read_results(folder.file("results.h5"));
  }();
  return results;
}

/// The program's call where gnuplot is not found, as in run_headscope_without_gnuplot.
Words call_without_gnuplot(const Words& arguments) {
  Words call = test::headscope_call(arguments);
  call.insert(call.begin(), {"env", "PATH=/nonexistent"});
  return call;
}

/// Starts a run and sends it a signal as soon as the file exists.
Finished run_until(const std::string& file, int signal, const Words& arguments) {
  Running running(call_without_gnuplot(arguments));
  while (!fs::exists(file) && !running.has_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  running.send(signal);
  return running.wait();
}

std::string saved_file(const std::string& output, int pass) {
  return output + "/shards/1-of-1.pass-" + std::to_string(pass) + ".saved";
}

TEST(Resume, AfterKillsInEveryPassGivesTheSameNumbersToTheLastBit) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  for (int pass = 1; pass <= 3; ++pass) {
    const Finished killed =
        run_until(saved_file(output, pass), SIGKILL, resumable_arguments(output, {"--resume"}));
    ASSERT_EQ(killed.exit_status, 128 + SIGKILL) << killed.err;
    ASSERT_TRUE(fs::exists(output + "/shards"));
    ASSERT_FALSE(fs::exists(output + "/results.h5"));
  }
  const Finished finished = run_resumable(output, {"--resume"});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_EQ(first_difference(read_results(output + "/results.h5"), uninterrupted()), "");
  EXPECT_FALSE(fs::exists(output + "/shards"));
}

TEST(Resume, OfModelsOfAttentionAfterKillsGivesTheSameNumbersToTheLastBit) {
  const TemporaryDirectory folder;
  const auto arguments = [&](const std::string& output, const Words& more = {}) {
    Words words = resumable_arguments(
        output, {"--score-queries", "60", "--score-effect-documents", "2", "--quiet"});
    replace(words, "--analyses", "score_model");
    replace(words, "--max-documents", "8");  // two for single heads, two for many
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::string whole = folder.file("whole"), output = folder.file("out");
  const Finished expected = test::run_headscope_without_gnuplot(arguments(whole));
  ASSERT_EQ(expected.exit_status, 0) << expected.err;
  for (int pass = 2; pass <= 4; ++pass) {
    const Finished killed =
        run_until(saved_file(output, pass), SIGKILL, arguments(output, {"--resume"}));
    ASSERT_EQ(killed.exit_status, 128 + SIGKILL) << killed.err;
    ASSERT_FALSE(fs::exists(output + "/results.h5"));
  }
  const Finished finished = test::run_headscope_without_gnuplot(arguments(output, {"--resume"}));
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  const Results results = read_results(output + "/results.h5");
  EXPECT_TRUE(results.group("score_model").has("joint_loss"));
  EXPECT_EQ(first_difference(results, read_results(whole + "/results.h5")), "");
}

TEST(Resume, AloneTakesTheOptionsOfTheRunAndInspectSaysSo) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  run_until(saved_file(output, 2), SIGKILL, resumable_arguments(output));
  const Finished seen = test::run_headscope({"inspect", output});
  EXPECT_EQ(seen.exit_status, 0);
  EXPECT_THAT(seen.out, HasSubstr(output + ": unfinished run\n"));
  EXPECT_THAT(seen.out,
              testing::ContainsRegex("pass 2 of 4, (after document [1-5] of 5|finished)\n"));
  EXPECT_THAT(seen.out, HasSubstr(" headscope run --output " + output + " --resume\n"));
  EXPECT_EQ(test::run_headscope({"inspect", output + "/shards"}).out,
            output +
                "/shards: saved passes of a run\n  the run                 headscope inspect " +
                output + "\n");
  // As if it had been killed after it wrote results.
  write_results(uninterrupted(), output + "/results.h5");
  const Finished finished =
      test::run_headscope_without_gnuplot({"run", "--output", output, "--resume"});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_EQ(first_difference(read_results(output + "/results.h5"), uninterrupted()), "");
  for (const Words& arguments :
       {Words{"run", "--output", output, "--resume"}, resumable_arguments(output, {"--resume"})}) {
    const Finished again = test::run_headscope(arguments);
    EXPECT_EQ(again.exit_status, 1);
    EXPECT_EQ(again.err, "headscope: " + output +
                             ": holds the results of a finished run; --force replaces them, or "
                             "choose another folder\n");
  }
}

TEST(Resume, TakesNoneOfTheOptionsOrThoseOfFilesToo) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  run_until(saved_file(output, 1), SIGKILL, short_arguments(output));
  const Finished refused =
      test::run_headscope({"run", "--output", output, "--resume", "--figures", "svg"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_EQ(refused.err,
            "headscope: --resume: expected none of the options of the unfinished run or all of "
            "them, got some without --model\n");
}

TEST(Resume, AloneNeedsAnUnfinishedRun) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("mistyped");
  for (const Words& shard : {Words{}, Words{"--shard", "1/2"}}) {
    Words arguments{"run", "--output", output, "--resume"};
    arguments.insert(arguments.end(), shard.begin(), shard.end());
    const Finished finished = test::run_headscope(arguments);
    EXPECT_EQ(finished.exit_status, 1);
    EXPECT_EQ(finished.err, "headscope: " + output +
                                ": expected the state of an unfinished run, got none; give the "
                                "options of the run again, or leave out --resume to begin\n");
    EXPECT_FALSE(fs::exists(output));
  }
}

TEST(RunOptions, RecordPathsAsTheSystemReadsThem) {
  const TemporaryDirectory folder;
  fs::create_directories(folder.file("real/deep"));
  fs::create_directory_symlink(folder.file("real/deep"), folder.file("link"));
  const fs::path top = fs::canonical(folder.path());
  const auto recorded = [&](const std::string& corpus) {
    RunOptions options;
    parse_options("run", {"--corpus", folder.file(corpus), "--output", "out"}, options.table);
    return options.run_files().options;
  };
  EXPECT_THAT(recorded("link/../book.txt"), HasSubstr((top / "real/book.txt").string() + '"'));
  EXPECT_THAT(recorded("link/book.txt"), HasSubstr("/link/book.txt\""));
  EXPECT_THAT(recorded("./book.txt"), testing::Not(HasSubstr("./book")));
}

TEST(Resume, RunsNoDocumentAgainThatWasSaved) {
  const TemporaryDirectory folder;
  RunOptions options;
  set_correlation_run(folder.path(), {"--quiet", "--resume"}, options);
  const RunSetup setup(options);
  ShardRun run(setup.input(), options.run_files());
  // Pretends that four of five documents have been run, with empty statistics.
  run.folder().save(1, 4, {});
  Progress quiet(true);
  const std::optional<Results> results = run.results(quiet);
  const std::size_t n_last = setup.input().context.corpus->piece(4).tokens.size();
  EXPECT_EQ(std::get<std::int64_t>(results->attributes.at("n_token")),
            static_cast<std::int64_t>(n_last));
}

/// Stops a run after its first piece, with what it says is saved.
class StopAtOnce : public RunMonitor {
 public:
  bool wants_stop() const override { return true; }
  void save(const std::function<void()>& action, const std::string& state) override {
    action();
    throw Error(state);
  }
};

TEST(Resume, AStopWithinADocumentSaysSo) {
  const TemporaryDirectory folder;
  RunOptions options;
  set_correlation_run(folder.path(), {"--quiet", "--context", "32"}, options);
  const RunSetup setup(options);
  ShardRun run(setup.input(), options.run_files());
  StopAtOnce stop;
  EXPECT_EQ(test::message_of<Error>([&] { run.results(stop); }),
            "saved within document 1 of 5, pass 1");
  EXPECT_THAT(test::run_headscope({"inspect", folder.path()}).out,
              HasSubstr(", within document 1 of 5\n"));
}

class Signal : public testing::TestWithParam<int> {};

TEST_P(Signal, SavesSaysHowToResumeAndExits) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  const Finished stopped =
      run_until(saved_file(output, 1), GetParam(), short_arguments(output, {"--quiet"}));
  EXPECT_EQ(stopped.exit_status, 128 + GetParam());
  EXPECT_THAT(stopped.err, HasSubstr(GetParam() == SIGINT ? "headscope: SIGINT: saved after "
                                                          : "headscope: SIGTERM: saved after "));
  EXPECT_THAT(stopped.err, HasSubstr("; continue with `headscope run --model "));
  EXPECT_THAT(stopped.err, HasSubstr("--quiet --resume`\n"));
  EXPECT_EQ(std::count(stopped.err.begin(), stopped.err.end(), '\n'), 1);
  EXPECT_FALSE(fs::exists(output + "/results.h5"));
  if (GetParam() != SIGINT) return;  // what is saved is the same
  const std::string whole = folder.file("whole");
  for (const Words& arguments :
       {short_arguments(output, {"--quiet", "--resume"}), short_arguments(whole)}) {
    const Finished finished = test::run_headscope_without_gnuplot(arguments);
    ASSERT_EQ(finished.exit_status, 0) << finished.err;
  }
  EXPECT_EQ(
      first_difference(read_results(output + "/results.h5"), read_results(whole + "/results.h5")),
      "");
}

TEST(Resume, AnInterruptThatTheProgramWasStartedToIgnoreIsIgnored) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  Words arguments{"sh", "-c", "trap '' INT; exec \"$0\" \"$@\""};
  std::ranges::copy(call_without_gnuplot(short_arguments(output, {"--quiet"})),
                    std::back_inserter(arguments));
  Running running(arguments);
  while (!fs::exists(saved_file(output, 1)) && !running.has_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_FALSE(running.has_ended());
  running.send(SIGINT);
  const Finished finished = running.wait();
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_TRUE(fs::exists(output + "/results.h5"));
}

INSTANTIATE_TEST_SUITE_P(Resume, Signal, testing::Values(SIGINT, SIGTERM));

// A document that takes minutes.
TEST(Resume, ASignalInsideADocumentIsHeeded) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  ModelConfig config = test::config_of(
      {.n_layer = 12, .n_head = 12, .d_model = 384, .d_mlp = 1536, .n_ctx = 512, .d_vocab = 300});
  save_model(random_model(config, 1), folder.file("m.h5"));
  TokenIds tokens(config.n_ctx);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i * i % 300);
  test::write_token_corpus(folder.file("c.h5"), {tokens});
  Running running(call_without_gnuplot({"run", "--model", folder.file("m.h5"), "--corpus",
                                        folder.file("c.h5"), "--no-bos", "--analyses", "pruning",
                                        "--threads", "1", "--output", output}));
  while (!fs::exists(output + "/.lock") && !running.has_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto sent = std::chrono::steady_clock::now();
  running.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  running.send(SIGINT);  // as timeout(1) does
  const Finished stopped = running.wait();
  // A second, and time for a machine at work; the document alone takes more than half a minute.
  EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(10));
  EXPECT_EQ(stopped.exit_status, 128 + SIGINT);
  EXPECT_THAT(stopped.err,
              HasSubstr("headscope: SIGINT: the run stops; a second signal ends it at once\n"));
  EXPECT_THAT(
      stopped.err,
      testing::ContainsRegex(
          "headscope: SIGINT: (nothing was saved yet; the same command begins again\n|saved "
          "after pass 1; continue with `headscope run )"));
}

TEST(Resume, APieceThatIsGivenUpBeforeTheFirstSaveSaysSo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto give_up = [](bool has_saved) {
    std::signal(SIGINT, SIG_DFL);
    Progress quiet(true, "headscope run --resume");
    quiet.begin_passes(1, has_saved);
    std::raise(SIGINT);
    std::this_thread::sleep_for(std::chrono::minutes(1));
  };
  const testing::ExitedWithCode interrupted(128 + SIGINT);
  EXPECT_EXIT(give_up(false), interrupted,
              "SIGINT: nothing was saved yet; the same command begins again");
  EXPECT_EXIT(give_up(true), interrupted,
              "SIGINT: the state was saved before; continue with `headscope run --resume`");
}

TEST(Resume, ASecondSignalEndsTheProgramAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto save = [] {
    std::raise(SIGINT);
    std::this_thread::sleep_for(std::chrono::seconds(3));
    std::raise(SIGTERM);
    std::this_thread::sleep_for(std::chrono::minutes(1));
  };
  const auto run = [&] {
    std::signal(SIGINT, SIG_DFL);
    Progress quiet(true, "headscope run --resume");
    quiet.begin_passes(1, false);
    quiet.save(save, "saved");
  };
  EXPECT_EXIT(run(), testing::KilledBySignal(SIGTERM), "");
}

TEST(Resume, ASignalAfterTheLastSaveIsHeeded) {
  Progress quiet(true, "headscope run --resume");
  quiet.begin_passes(1, false);
  quiet.save([] {}, "saved after pass 4");
  std::raise(SIGTERM);
  EXPECT_EQ(test::message_of<Interrupted>([&] { quiet.end_passes(); }),
            "SIGTERM: saved after pass 4; continue with `headscope run --resume`");
}

TEST(Resume, RefusesWhatChangedAndNamesIt) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out"), saved = saved_file(output, 1);
  run_until(saved, SIGKILL, resumable_arguments(output));
  const std::string begun = fs::exists(saved) ? saved : output + "/shards/1-of-1.pass-1.h5";
  const auto refused = [&](const char* option, const char* value, const Words& more) {
    Words arguments = resumable_arguments(output, more);
    replace(arguments, option, value);
    const Finished finished = test::run_headscope(arguments);
    EXPECT_EQ(finished.exit_status, 1);
    return finished.err;
  };
  EXPECT_EQ(refused("--bootstrap", "21", {"--resume"}),
            "headscope: " + begun + ": --bootstrap is 20, but 21 in this run\n");
  EXPECT_THAT(refused("--model", HEADSCOPE_PROJECT_DIR "/data/default-model.h5", {"--resume"}),
              HasSubstr(begun + ": model SHA-256 is "));
  EXPECT_THAT(refused("--corpus", HEADSCOPE_TEST_DATA "/classification.conllu", {"--resume"}),
              HasSubstr(begun + ": corpus SHA-256 is "));
  EXPECT_EQ(refused("--bootstrap", "20", {}),
            "headscope: " + begun +
                ": left by a run that was not finished; continue it with --resume, or "
                "remove it to begin again\n");
}

TEST(Resume, OnOtherThreadsNeedsAnOptionAndIsRecorded) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  run_until(saved_file(output, 1), SIGKILL, short_arguments(output));
  Words arguments = short_arguments(output, {"--resume"});
  replace(arguments, "--threads", "2");
  const Finished refused = test::run_headscope(arguments);
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_THAT(refused.err,
              HasSubstr(", 2 threads in this run; other kernels, vectors or numbers of threads"));
  arguments.push_back("--mixed");
  const Finished finished = test::run_headscope_without_gnuplot(arguments);
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  const auto arithmetic =
      std::get<std::string>(read_results(output + "/results.h5").attributes.at("arithmetic"));
  EXPECT_THAT(arithmetic, HasSubstr(", 1 thread; OpenBLAS"));
}

TEST(Shards, DoNotWaitForAShardThatDied) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  Words dying = resumable_arguments(output, {"--shard", "2/2"});
  replace(dying, "--analyses", "classification");
  const Finished killed = run_until(output + "/shards/2-of-2.pass-1.saved", SIGKILL, dying);
  ASSERT_EQ(killed.exit_status, 128 + SIGKILL) << killed.err;
  Words waiting = dying;
  replace(waiting, "--shard", "1/2");
  waiting.push_back("--wait");
  const Finished finished = test::run_headscope_without_gnuplot(waiting);
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_THAT(
      finished.err,
      HasSubstr("headscope: pass 1 of shard 2 is missing, and no process runs that shard any more; "
                "continue it with `headscope run --output " +
                output + " --shard 2/2 --resume`, then this shard with `headscope run "));
  EXPECT_THAT(finished.err, HasSubstr(" --shard 1/2 --wait --resume`\n"));
}

TEST(Shards, OfTheDefaultModelAreMergedWithTheDefaultCorpusWhereverTheModelLies) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out"), moved = folder.file("moved.h5");
  for (const char* const shard : {"1/2", "2/2"}) {
    const Finished finished = test::run_headscope(
        {"run", "--analyses", "correlation", "--max-documents", "2", "--threads", "1", "--engine",
         "float32", "--quiet", "--shard", shard, "--output", output});
    ASSERT_EQ(finished.exit_status, 0) << finished.err;
  }
  const auto merged_with = [&](const std::string& model) {
    return test::run_headscope_without_gnuplot(
        {"merge", output, "--model", model, "--quiet", "--output", folder.file("merged")});
  };
  EXPECT_THAT(merged_with(HEADSCOPE_PROJECT_DIR "/data/planted-model.h5").err,
              HasSubstr("/shards/1-of-2.pass-1.h5: model SHA-256 is "));
  fs::copy_file(HEADSCOPE_PROJECT_DIR "/data/default-model.h5", moved);
  const Finished finished = merged_with(moved);
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
}

TEST(OutputFolder, IsLockedWhileARunWritesIt) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  {
    const OutputLock lock(output);
    const std::string holder = "process " + std::to_string(getpid()) + " on ";
    for (const Finished& second : {run_resumable(output), run_resumable(output, {"--resume"})}) {
      EXPECT_EQ(second.exit_status, 1);
      EXPECT_THAT(second.err,
                  HasSubstr("headscope: " + output + ": is being written by " + holder));
      EXPECT_THAT(second.err, HasSubstr("; wait until it ends, or choose another folder\n"));
    }
  }
  // The record of engines is whole, whichever process writes the first.
  for (const auto& left : fs::directory_iterator(output)) {
    EXPECT_EQ(left.path().filename(), "engines.json");
  }
  EXPECT_EQ(test::run_headscope_without_gnuplot(short_arguments(output)).exit_status, 0);
  EXPECT_FALSE(fs::exists(output + "/.lock"));
}

TEST(OutputFolder, IsLockedByEachShardForItself) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  const OutputLock lock(output + "/shards", "1-of-2.lock");
  const auto run_shard = [&](const char* shard) {
    return test::run_headscope_without_gnuplot(short_arguments(output, {"--shard", shard}));
  };
  EXPECT_EQ(run_shard("2/2").exit_status, 0);
  EXPECT_THAT(run_shard("1/2").err, HasSubstr("/shards: is being written by "));
}

TEST(OutputFolder, LockOverwritesNoFileOfTheUser) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out"), own = folder.file("f");
  fs::create_directories(output);
  test::write_file(own, "mine");
  const auto refused = [&](const std::string& reason) {
    const Finished finished = run_resumable(output);
    EXPECT_EQ(finished.exit_status, 1);
    EXPECT_THAT(finished.err, HasSubstr(output + "/.lock: cannot be written: " + reason + "\n"));
    EXPECT_EQ(test::read_file(own), "mine");
    fs::remove(output + "/.lock");
  };
  fs::create_symlink("../f", output + "/.lock");
  refused("it is a symbolic link");
  fs::create_hard_link(own, output + "/.lock");
  refused("it is not a file of its own");
  test::write_file(output + "/.lock", "notes");
  refused("it holds what is no lock");
}

TEST(OutputFolder, KeepsAReportThatIsNotOfARun) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out"), own = output + "/report.html";
  fs::create_directories(output);
  test::write_file(own, "mine");
  const Finished finished = run_resumable(output);
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_THAT(finished.err,
              HasSubstr(own + ": has no results.h5 beside it, so no run wrote it; "
                              "--force replaces the file, or choose another folder\n"));
  EXPECT_EQ(test::read_file(own), "mine");
}

TEST(OutputFolder, KeepsTheTablesOfTheUser) {
  const TemporaryDirectory folder, tables;
  const std::string output = folder.file("out"), own = output + "/tables/parameters.mine.csv";
  fs::create_directories(output);
  fs::create_directory_symlink(fs::relative(tables.path(), output), output + "/tables");
  test::write_file(own, "mine");
  ASSERT_EQ(test::run_headscope_without_gnuplot(
                {"run", "--model", HEADSCOPE_PROJECT_DIR "/data/planted-model.h5", "--analyses",
                 "parameters", "--nulls", "1", "--quiet", "--output", output})
                .exit_status,
            0);
  const std::vector<std::string> first = tables.files();
  EXPECT_GT(first.size(), 3U);
  test::write_file(
      output + "/tables/headscope-tables.txt",
      test::read_file(output + "/tables/headscope-tables.txt") + "parameters.old.csv\n");
  test::write_file(output + "/tables/parameters.old.csv", "of an earlier run");
  ASSERT_EQ(test::run_headscope_without_gnuplot({"report", output}).exit_status, 0);
  EXPECT_EQ(test::read_file(own), "mine");
  EXPECT_EQ(tables.files(), first);
}

TEST(OutputFolder, IsCheckedBeforeTheWork) {
  const auto error_with = [](const auto& prepare) {
    const TemporaryDirectory folder;
    const std::string output = folder.file("out");
    fs::create_directories(output);
    prepare(output);
    const Finished finished = run_resumable(output);
    EXPECT_EQ(finished.exit_status, 1);
    EXPECT_FALSE(fs::exists(output + "/report.html"));
    const std::size_t begin = finished.err.find(output);
    return begin == std::string::npos ? finished.err : finished.err.substr(begin + output.size());
  };
  EXPECT_EQ(
      error_with([](const std::string& output) { fs::create_directory(output + "/results.h5"); }),
      "/results.h5: cannot be written: it is a folder\n");
  EXPECT_EQ(
      error_with([](const std::string& output) { test::write_file(output + "/figures", "x"); }),
      "/figures: cannot be written: it is not a folder\n");
}

}  // namespace
}  // namespace headscope
