#include <sys/stat.h>

#include <regex>
#include <sstream>

#include "commands.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/analysis.hpp"
#include "headscope/blas.hpp"
#include "headscope/figure.hpp"
#include "headscope/results.hpp"
#include "headscope/version.hpp"
#include "program/program_test.hpp"
#include "registry.hpp"
#include "support/results_sample.hpp"
#include "support/token_corpus.hpp"
#include "support/word_tokenizer.hpp"

namespace headscope {
namespace {

/// Expects this exit status, one line on stderr and nothing on stdout.
void expect_refused(const std::vector<std::string>& arguments, int exit_status,
                    const std::string& line) {
  const Finished finished = run_headscope(arguments);
  EXPECT_EQ(finished.exit_status, exit_status);
  EXPECT_EQ(finished.err, "headscope: " + line + "\n");
  EXPECT_THAT(finished.out, IsEmpty());
}

TEST(CommandLine, WithoutArgumentsShowsUsageAndExits2) {
  const Finished finished = run_headscope({});
  EXPECT_EQ(finished.exit_status, 2);
  EXPECT_THAT(finished.out, IsEmpty());
  EXPECT_THAT(finished.err, HasSubstr("headscope run"));
}

TEST(CommandLine, NoModelIsOverwrittenByWhatIsMadeOfIt) {
  const TemporaryDirectory folder;
  const std::string model = folder.file("model.h5");
  fs::copy_file(std::string(HEADSCOPE_PROJECT_DIR) + "/data/planted-model.h5", model);
  const std::string before = test::read_file(model);
  for (const Words& arguments :
       {Words{"prune", model, model, "--heads", "L0H0"}, Words{"convert", model, model}}) {
    const Finished finished = run_headscope(arguments);
    EXPECT_EQ(finished.exit_status, 1);
    EXPECT_THAT(finished.err,
                HasSubstr("model.h5: is the model that is read; choose another file to write"));
    EXPECT_EQ(test::read_file(model), before);
  }
}

TEST(CommandLine, AModelReplacesAModelAndNoOtherFile) {
  const TemporaryDirectory folder;
  const std::string in = HEADSCOPE_PROJECT_DIR "/data/planted-model.h5",
                    results = folder.file("results.h5"), notes = folder.file("notes.h5");
  write_results(test::results_sample(), results);
  const std::string before = test::read_file(results);
  test::write_file(notes, "heads to look at");
  for (const Words& arguments : {Words{"prune", in, results, "--heads", "L0H0"},
                                 Words{"convert", in, results}, Words{"convert", in, notes}}) {
    const Finished finished = run_headscope(arguments);
    EXPECT_EQ(finished.exit_status, 1);
    EXPECT_THAT(finished.err,
                HasSubstr(arguments[2] + ": is there and is no HDF5 model; remove it or choose "
                                         "another file to write"));
  }
  EXPECT_EQ(test::read_file(results), before);
  EXPECT_EQ(test::read_file(notes), "heads to look at");
  const std::string copy = folder.file("copy.h5");
  EXPECT_EQ(run_headscope({"convert", in, copy}).exit_status, 0);
  EXPECT_EQ(run_headscope({"prune", in, copy, "--heads", "L0H0"}).exit_status, 0);
}

TEST(CommandLine, AnInputOfAnotherKindIsNamed) {
  const TemporaryDirectory folder;
  const std::string results = folder.file("results.h5");
  write_results(test::results_sample(), results);
  EXPECT_THAT(run_headscope({"attend", "The cat", "--model", results}).err,
              HasSubstr(results + ": expected a model, got results"));
  test::write_token_corpus(folder.file("tokens.h5"), {{1, 2, 3}});
  EXPECT_THAT(run_headscope({"attend", "The cat", "--model", folder.file("tokens.h5")}).err,
              HasSubstr("tokens.h5: expected a model, got a corpus of token ids"));
  EXPECT_THAT(run_headscope({"inspect", HEADSCOPE_PROJECT_DIR "/data/tokenizer"}).out,
              HasSubstr("/data/tokenizer: tokenizer\n  tokens "));
  // A tokenizer beside a corpus or an adapter hides neither.
  for (const char* const name : {"vocab.json", "merges.txt"}) {
    fs::copy_file(std::string(HEADSCOPE_PROJECT_DIR "/data/tokenizer/") + name, folder.file(name));
  }
  fs::remove(results);
  EXPECT_THAT(run_headscope({"inspect", folder.path()}).out, HasSubstr(": corpus\n"));
  test::write_file(folder.file("adapter_config.json"), "{}");
  EXPECT_THAT(run_headscope({"inspect", folder.path()}).err, HasSubstr("adapter"));
}

TEST(CommandLine, AFolderWithAConfigAndNoWeightsIsDescribedByItsConfig) {
  const TemporaryDirectory folder;
  const std::string config = folder.file("config.json");
  fs::copy_file(HEADSCOPE_TEST_DATA "/tiny_safetensors_pruned/config.json", config);
  const std::string of_config = run_headscope({"inspect", config}).out;
  EXPECT_THAT(of_config, HasSubstr("estimated memory"));
  const std::string of_folder = folder.path() + ": config of a model without weights\n" + of_config;
  EXPECT_EQ(run_headscope({"inspect", folder.path()}).out, of_folder);
  for (const char* const name : {"vocab.json", "merges.txt"}) {
    fs::copy_file(std::string(HEADSCOPE_PROJECT_DIR "/data/tokenizer/") + name, folder.file(name));
  }
  EXPECT_EQ(run_headscope({"inspect", folder.path()}).out, of_folder);
  test::write_file(folder.file("c.txt"), "The cat.");
  EXPECT_THAT(run_headscope({"inspect", folder.path()}).out, HasSubstr(": corpus\n"));
}

TEST(CommandLine, InspectReadsTextWithoutAFirstToken) {
  const TemporaryDirectory folder;
  const std::string corpus = folder.file("c.txt"), pairs = folder.file("t.jsonl");
  test::write_file(folder.file("vocab.json"), test::byte_vocabulary_json());
  test::write_file(folder.file("merges.txt"), "");
  test::write_file(corpus, "abc");
  test::write_file(pairs, R"({"prefix": "a", "good": "b", "bad": "c"})");
  for (const std::string& path : {corpus, pairs}) {
    const auto inspect = [&](const Words& options) {
      Words arguments{"inspect", path, "--tokenizer", folder.path()};
      arguments.insert(arguments.end(), options.begin(), options.end());
      return run_headscope(arguments);
    };
    EXPECT_THAT(inspect({}).err, HasSubstr("; --no-bos reads text without it\n")) << path;
    for (const Words& options : {Words{"--no-bos"}, Words{"--bos", "b"}}) {
      EXPECT_EQ(inspect(options).err, "") << path;
      EXPECT_EQ(inspect(options).exit_status, 0) << path;
    }
    EXPECT_EQ(inspect({"--bos", "b", "--no-bos"}).err,
              "headscope: --bos: expected without --no-bos, got both\n");
  }
}

TEST(CommandLine, HelpGivesEachDefaultOnce) {
  const std::string help = run_headscope({"run", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("\n  -o, --output DIR\n"));
  EXPECT_THAT(help, HasSubstr("\n  --bootstrap N\n"));
  const std::string unwrapped = std::regex_replace(help, std::regex("\\s+"), " ");
  EXPECT_THAT(unwrapped, HasSubstr("(default 1000)"));
  EXPECT_THAT(unwrapped, HasSubstr("(0: all; default 32)"));
  EXPECT_THAT(unwrapped, HasSubstr("(default 0: all)"));
  EXPECT_THAT(unwrapped, HasSubstr("(default: all documents)"));
}

TEST(CommandLine, HelpIsGroupedInLinesOf80Columns) {
  const std::string help = run_headscope({"run", "--help"}).out;
  std::size_t place = 0;
  for (const char* heading :
       {"Model", "Corpus", "Analyses", "Analysis pruning", "Analysis circuits", "Output", "Run"}) {
    const std::size_t next = help.find(std::string("\n\n") + heading + "\n  -");
    ASSERT_NE(next, help.npos) << heading;
    EXPECT_GT(next, place) << heading;
    place = next;
  }
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(CommandLine, RefusesAnUnknownCommand) {
  expect_refused({"analyse"}, 2,
                 "unknown command \"analyse\"; `headscope --help` lists the commands");
}

TEST(CommandLine, NamesTheCommandThatWasMeant) {
  expect_refused({"inspct"}, 2, "unknown command \"inspct\"; did you mean inspect?");
  expect_refused({"rnu"}, 2, "unknown command \"rnu\"; did you mean run?");
  expect_refused({"help", "comp"}, 2, "unknown command \"comp\"; did you mean compare?");
}

TEST(CommandLine, HelpOfACommandIsItsHelpOnStandardOutput) {
  for (const RegisteredCommand& command : commands()) {
    const Finished help = run_headscope({"help", command.name});
    EXPECT_EQ(help.exit_status, 0) << command.name;
    EXPECT_THAT(help.out, StartsWith("Usage: headscope " + std::string(command.name)));
    EXPECT_THAT(help.err, IsEmpty()) << command.name;
    const Finished option = run_headscope({command.name, "--help"});
    EXPECT_EQ(option.exit_status, 0) << command.name;
    EXPECT_EQ(option.out, help.out);
    EXPECT_THAT(option.err, IsEmpty()) << command.name;
    for (const std::string& example : command.examples) {
      EXPECT_THAT(help.out, HasSubstr("\n  headscope " + example + "\n"));
    }
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(CommandLine, VersionNamesTheKernel) {
  const Finished version = run_headscope({"-V"});
  EXPECT_THAT(version.out, StartsWith("headscope " + headscope::version() + "\n"));
  const std::regex trial(": products by [^\n]*");  // in each call anew
  const auto without_trials = [&](const std::string& text) {
    return std::regex_replace(text, trial, "");
  };
  EXPECT_EQ(without_trials(version.out), without_trials(run_headscope({"--version"}).out));
}

TEST(CommandLine, DoesNotGuessAbbreviations) {
  expect_refused({"run", "--outp", "x"}, 2, "unrecognised option '--outp'; did you mean --output?");
  expect_refused({"run", "--zzz", "x"}, 2, "unrecognised option '--zzz'");
  expect_refused({"convert", "a", "b", "c"}, 2,
                 "convert: expected fewer arguments; usage: headscope convert IN OUT.h5");
}

TEST(CommandLine, RefusesWrongOptionValues) {
  expect_refused({"run"}, 2, "--output: expected a folder for the results, got none");
  expect_refused({"run", "--output", "x", "--seed", "-1"}, 2,
                 "--seed: expected a whole number >= 0, got \"-1\"");
  expect_refused({"run", "--output", "x", "--seed", "99999999999999999999"}, 2,
                 "--seed: expected a whole number from 0 to 9223372036854775807, got "
                 "\"99999999999999999999\"");
  expect_refused({"run", "--output", "x", "--threads", "4097"}, 2,
                 "--threads: expected a whole number from 0 to 4096, got \"4097\"");
  expect_refused({"run", "--output", "x", "--score-queries", "0"}, 2,
                 "--score-queries: expected a whole number >= 1, got \"0\"");
  expect_refused({"run", "--output", "x", "--paths-steps", "0"}, 2,
                 "--paths-steps: expected a whole number from 1 to 1000, got \"0\"");
  expect_refused({"run", "--output", "x", "--memory", "8"}, 2,
                 "--memory: expected a size such as 900M or 8G, got \"8\"");
  expect_refused({"run", "--output", "x", "--control", "trained"}, 2,
                 "--control: expected one of none, random; got \"trained\"");
  expect_refused({"run", "--output", "x", "--figures", "gif"}, 2,
                 "--figures: expected one of svg, png, pdf; got \"gif\"");
  expect_refused({"run", "--output", "x", "--analyses", ""}, 2,
                 "--analyses: expected names with commas between them, got \"\"");
  expect_refused({"run", "--output", "x", "--analyses", "circuits,"}, 2,
                 "--analyses: expected names with commas between them, got \"circuits,\"");
  for (const char* const command : {"run", "inspect", "convert", "prune"}) {
    std::vector<std::string> arguments{command, "--n-head", "-1"};
    if (command == std::string("run")) {
      arguments.insert(arguments.end(), {"--output", "x"});
    } else {
      arguments.insert(arguments.end(), {"a.h5", "--heads=L0H0", "b.h5"});
      if (command != std::string("prune")) arguments.erase(arguments.begin() + 4);
      if (command == std::string("inspect")) arguments.pop_back();
    }
    expect_refused(arguments, 2, "--n-head: expected a whole number >= 0, got \"-1\"");
  }
  expect_refused({"report"}, 2,
                 "report: expected a results folder or file, got none; usage: headscope report "
                 "DIR|results.h5");
}

TEST(CommandLine, NamesTheOptionOrFileThatIsMissing) {
  expect_refused({"merge", "--output", "x"}, 2, "merge: expected shards, got none");
  expect_refused({"convert", "a.h5"}, 2, "convert: expected an output file, got none");
  expect_refused({"run", "--output", ""}, 2,
                 "--output: expected a folder for the results, got none");
}

TEST(CommandLine, AnEmptyValueIsRefused) {
  const auto run = [](const Words& options) {
    Words arguments{"run", "--output", "x"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  };
  expect_refused(run({"--model", ""}), 2, "--model: expected a file, got \"\"");
  expect_refused(run({"--corpus", ""}), 2, "--corpus: expected a file or folder, got \"\"");
  expect_refused(run({"--tasks", "a.jsonl", ""}), 2, "--tasks: expected a file, got \"\"");
  expect_refused(run({"--tokenizer", ""}), 2, "--tokenizer: expected a folder, got \"\"");
  expect_refused(run({"--bos", ""}), 2, "--bos: expected a value, got \"\"");
  expect_refused(run({"--encoding", ""}), 2, "--encoding: expected a value, got \"\"");
  expect_refused(run({"--features", ""}), 2, "--features: expected a file, got \"\"");
  expect_refused(run({"--paths-ordering", ""}), 2, "--paths-ordering: expected a file, got \"\"");
  expect_refused(run({"--config", ""}), 2, "--config: expected a file, got \"\"");
  expect_refused({"attend", "hi", "--model", ""}, 2, "--model: expected a file, got \"\"");
  expect_refused({"attend", "hi", "--next", ""}, 2, "--next: expected a value, got \"\"");
  expect_refused({"attend", "hi", "-o", ""}, 2, "--output: expected a file, got \"\"");
  expect_refused({"inspect", "c.txt", "--tokenizer", ""}, 2,
                 "--tokenizer: expected a folder, got \"\"");
  expect_refused({"tasks", "ioi", "--tokenizer", ""}, 2,
                 "--tokenizer: expected a file or folder, got \"\"");
  expect_refused({"compare", "a", "b", "-o", "c", "--label", "a", ""}, 2,
                 "--label: expected a value, got \"\"");
  expect_refused({"merge", "a.h5", "", "--output", "x"}, 2, "merge: expected shards, got \"\"");

  const TemporaryDirectory folder;
  const std::string config = folder.file("options");
  for (const char* const line : {"bos = \"\"\n", "bos =\n"}) {
    test::write_file(config, line);
    expect_refused(run({"--config", config}), 2, "--bos: expected a value, got \"\"");
  }
}

TEST(CommandLine, ListNamesEveryRegisteredAnalysis) {
  const Finished finished = run_headscope({"list"});
  EXPECT_EQ(finished.exit_status, 0);
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    EXPECT_THAT(finished.out, HasSubstr(analysis.info.name + ": "));
  }
}

TEST(CommandLine, MissingModelIsOneLineAndLeavesNoResults) {
  const TemporaryDirectory directory;
  const std::string missing = directory.file("none.h5");
  const Finished finished =
      run_headscope({"run", "--model", missing, "--output", directory.file("out")});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_THAT(finished.err, StartsWith("headscope: " + missing + ": "));
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1);
  EXPECT_FALSE(fs::exists(directory.file("out")));
}

TEST(CommandLine, AnalysisOfTextWithoutCorpusIsRefused) {
  bool found = false;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (!analysis.info.needs_corpus()) continue;
    found = true;
    const TemporaryDirectory directory;
    const std::string model = directory.file("model.h5");
    save_model(random_model(test::tiny_config(), 1), model);
    expect_refused({"run", "--model", model, "--analyses", analysis.info.name, "--output",
                    directory.file("out")},
                   2, "--analyses " + analysis.info.name + ": expected --corpus, got none");
  }
  EXPECT_TRUE(found);
}

TEST(CommandLine, AControlThatNoAnalysisHasIsNoted) {
  const TemporaryDirectory directory;
  const std::string model = directory.file("model.h5");
  save_model(random_model(test::tiny_config(), 1), model);
  const Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--analyses", "parameters", "--nulls", "1", "--control", "random",
       "--output", directory.file("out")});
  EXPECT_EQ(finished.exit_status, 0);
  EXPECT_THAT(finished.err,
              HasSubstr("headscope: does not use --control random: no analysis has a control\n"));
}

TEST(CommandLine, AttentionWeightsAloneAreRefusedBeforeACorpusIsAskedFor) {
  const TemporaryDirectory directory;
  const std::string model = HEADSCOPE_TEST_DATA "/tiny_flat/attention_only.h5";
  expect_refused(
      {"run", "--model", model, "--analyses", "pruning", "--output", directory.file("out")}, 1,
      model +
          ": expected a complete model for the analysis pruning, got attention weights only "
          "(no token embedding or MLP)");
}

TEST(CommandLine, WeightsRunWritesResultsTablesFiguresAndReport) {
  const TemporaryDirectory directory;
  const std::string model = directory.file("model.h5"), out = directory.file("out");
  save_model(random_model(test::tiny_config(), 1), model);
  const Finished finished = run_headscope({"run", "--model", model, "--output", out});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_EQ(finished.out, out + "/report.html\n");
  EXPECT_THAT(finished.err, Not(HasSubstr("replaced")));
  EXPECT_TRUE(fs::exists(out + "/report.html"));
  EXPECT_TRUE(fs::exists(out + "/report.md"));
  EXPECT_FALSE(fs::is_empty(out + "/tables"));

  const Results results = read_results(out + "/results.h5");
  EXPECT_TRUE(results.has("parameters"));
  EXPECT_TRUE(results.has("circuits"));
  EXPECT_EQ(std::get<std::string>(results.attributes.at("model_path")), model);
  EXPECT_EQ(std::get<std::string>(results.attributes.at("model_sha256")).size(), 64u);
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (!results.has(analysis.info.name)) continue;
    for (const Figure& figure : analysis.draw(results)) {
      for (const char* extension : {".svg", ".png", ".gp", ".dat"}) {
        EXPECT_TRUE(fs::exists(out + "/figures/" + figure.name + extension))
            << figure.name << extension;
      }
    }
  }
  const std::vector<std::string> again{
      "run", "--model", model, "--analyses", "parameters", "--figures", "svg", "--output", out};
  const test::Finished refused = run_headscope(again);
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_EQ(refused.err, "headscope: " + out +
                             ": holds the results of a finished run; --force replaces them, or "
                             "choose another folder\n");
  // As if the run had been stopped while it drew.
  fs::remove(out + "/report.md");
  Words resumed = again;
  resumed.emplace_back("--resume");
  for (const Words& arguments : {again, resumed}) {
    EXPECT_EQ(run_headscope(arguments).err,
              "headscope: " + out +
                  ": holds results without their report, as of a run that was stopped while it "
                  "drew; `headscope report " +
                  out + "` draws it, --force replaces the results\n");
  }
  std::vector<std::string> forced = again;
  forced.emplace_back("--force");
  EXPECT_THAT(run_headscope(forced).err,
              HasSubstr("headscope: the results in " + out + " will be replaced\n"));
}

TEST(CommandLine, ModelsAndValuesThatAreNotThereComeWithAHint) {
  EXPECT_EQ(run_headscope({"run", "--model", "gpt2-medium", "--output", "x"}).err,
            "headscope: gpt2-medium: no such file or folder; if a model on the Hugging Face hub is "
            "meant, `hf download openai-community/gpt2-medium --local-dir gpt2-medium` (of pip's "
            "huggingface_hub) downloads it to the folder gpt2-medium\n");
  const test::TemporaryDirectory folder;
  test::write_file(folder.file("latin1.txt"), "caf\xE9\n");
  EXPECT_THAT(
      run_headscope({"run", "--corpus", folder.file("latin1.txt"), "--output", folder.file("out")})
          .err,
      testing::EndsWith("got byte 233 at column 4; --encoding latin1 reads it\n"));
  EXPECT_THAT(run_headscope({"inspect", "someone/model"}).err,
              HasSubstr("`hf download someone/model --local-dir model`"));
  EXPECT_EQ(run_headscope({"inspect", "/nowhere/model"}).err,
            "headscope: /nowhere/model: cannot be opened: No such file or directory\n");
  const test::TemporaryDirectory adapter;
  test::write_file(adapter.file("adapter_config.json"), "{}");
  EXPECT_THAT(run_headscope({"inspect", adapter.path()}).err,
              HasSubstr("expected a model, got a PEFT adapter"));
  const test::TemporaryDirectory nano_gpt;
  test::write_file(nano_gpt.file("ckpt.pt"), "\x80\x02}q");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"inspect", nano_gpt.path()},
        {"run", "--model", nano_gpt.path(), "--output", "x"}}) {
    EXPECT_THAT(
        run_headscope(arguments).err,
        HasSubstr("ckpt.pt: expected an HDF5 or safetensors file, got a PyTorch checkpoint"));
  }
  EXPECT_THAT(run_headscope({"run", "--analyses", "pruning,atention", "--output", "x"}).err,
              HasSubstr("; got \"atention\"; did you mean attention?\n"));
}

TEST(CommandLine, InspectShowsTasksOfAFileAndOfAFolder) {
  const test::TemporaryDirectory folder;
  const std::string tasks = HEADSCOPE_PROJECT_DIR "/data/tasks.jsonl";
  const std::string in_capitals = folder.file("TASKS.JSONL");
  std::filesystem::copy_file(tasks, in_capitals);
  for (const std::string& path : {tasks, in_capitals, folder.path()}) {
    const test::Finished shown = run_headscope({"inspect", path});
    EXPECT_EQ(shown.err, "");
    EXPECT_THAT(shown.out, HasSubstr("7 tasks"));
    EXPECT_THAT(shown.out, testing::ContainsRegex("recurring_name +200 pairs"));
  }
}

TEST(CommandLine, AnotherFileOfTheNameOfResultsIsNoStoppedRun) {
  const TemporaryDirectory directory;
  const std::string model = directory.file("model.h5"), out = directory.file("out"),
                    file = out + "/results.h5";
  save_model(random_model(test::tiny_config(), 1), model);
  fs::create_directory(out);
  Words arguments{"run",     "--model", model,     "--analyses", "parameters",
                  "--nulls", "1",       "--quiet", "--output",   out};
  const auto refusal = [&] { return test::run_headscope_without_gnuplot(arguments).err; };
  const std::string refused = "headscope: " + file +
                              ": is no results file of this version of Headscope; --force replaces "
                              "it, or choose another folder\n";
  test::write_file(file, "mine");
  EXPECT_EQ(refusal(), refused);
  fs::copy_file(model, file, fs::copy_options::overwrite_existing);
  EXPECT_EQ(refusal(), refused);
  arguments.emplace_back("--force");
  EXPECT_EQ(test::run_headscope_without_gnuplot(arguments).exit_status, 0);
  EXPECT_TRUE(is_results_file(file));
}

TEST(CommandLine, WithoutGnuplotARunHasAllButFigures) {
  const TemporaryDirectory directory;
  const std::string out = directory.file("out");
  const test::Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--model", HEADSCOPE_PROJECT_DIR "/data/planted-model.h5", "--analyses", "parameters",
       "--nulls", "1", "--output", out});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err,
              HasSubstr("headscope: gnuplot is not installed, so the report has no figures; "
                        "when gnuplot works, \"headscope report " +
                        out + "\" draws them\n"));
  for (const char* const report : {"/report.html", "/report.md"}) {
    EXPECT_THAT(test::read_file(out + report), HasSubstr("Gnuplot is not installed")) << report;
  }
  EXPECT_FALSE(fs::is_empty(out + "/tables"));
  EXPECT_TRUE(fs::is_empty(out + "/figures"));
  ASSERT_EQ(run_headscope({"report", out, "--figures", "svg"}).exit_status, 0);
  EXPECT_FALSE(fs::is_empty(out + "/figures"));
  EXPECT_THAT(test::read_file(out + "/report.md"), Not(HasSubstr("Gnuplot is not installed")));
  const std::string report = test::read_file(out + "/report.html");
  const test::Finished refused = test::run_headscope_without_gnuplot({"report", out});
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_EQ(refused.err, "headscope: " + out +
                             "/figures: holds figures, which could not be drawn again: gnuplot is "
                             "not installed; nothing was changed\n");
  EXPECT_FALSE(fs::is_empty(out + "/figures"));
  EXPECT_EQ(test::read_file(out + "/report.html"), report);
}

TEST(CommandLine, AGnuplotThatFailsCostsTheFiguresAlone) {
  const TemporaryDirectory directory;
  const std::string gnuplot = directory.file("gnuplot");
  const auto with = [&](const std::string& script, const std::string& out) {
    std::ofstream(gnuplot) << "#!/bin/sh\n" << script;
    fs::permissions(gnuplot, fs::perms::owner_all);
    std::vector<std::string> call{"env", "PATH=" + directory.path()};
    for (const std::string& word : test::headscope_call(
             {"run", "--model", HEADSCOPE_PROJECT_DIR "/data/planted-model.h5", "--analyses",
              "parameters", "--nulls", "1", "--quiet", "--output", out}))
      call.push_back(word);
    return test::run_program(call);
  };
  const std::string never = directory.file("never"), later = directory.file("later");
  const Finished at_start = with("echo gnuplot: libgd.so.3 is missing >&2\nexit 127\n", never);
  EXPECT_EQ(at_start.exit_status, 0) << at_start.err;
  EXPECT_THAT(test::read_file(never + "/report.md"),
              HasSubstr("Gnuplot does not start (gnuplot: libgd.so.3 is missing)"));
  const Finished at_figure =
      with("[ \"$1\" = --version ] && exit 0\necho out of colours >&2\nexit 1\n", later);
  EXPECT_EQ(at_figure.exit_status, 0) << at_figure.err;
  EXPECT_THAT(at_figure.err, HasSubstr("expected gnuplot to draw it, got: out of colours"));
  EXPECT_THAT(test::read_file(later + "/report.html"), HasSubstr("out of colours"));
  EXPECT_FALSE(fs::is_empty(later + "/tables"));
  const std::string but_one = directory.file("but one");
  const Finished at_one_figure = with(
      "[ \"$3\" = parameter_counts.gp ] && echo out of colours >&2 && exit 1\n"
      "exec /usr/bin/gnuplot \"$@\"\n",
      but_one);
  EXPECT_EQ(at_one_figure.exit_status, 0);
  EXPECT_EQ(at_one_figure.err,
            "headscope: warning: figures not drawn: parameter_counts (parameter_counts.gp: "
            "expected gnuplot to draw it, got: out of colours)\n");
  EXPECT_FALSE(fs::exists(but_one + "/figures/parameter_counts.svg"));
  const std::string report = test::read_file(but_one + "/report.md");
  EXPECT_THAT(report, HasSubstr("Figures not drawn: parameter\\_counts"));
  EXPECT_THAT(report, HasSubstr("so the report lacks them; when gnuplot works"));
  EXPECT_THAT(report, HasSubstr("figures/block_energy.svg"));
}

TEST(CommandLine, ReportRedrawsWithoutTheModel) {
  const TemporaryDirectory directory;
  const std::string model = directory.file("model.h5"), out = directory.file("out");
  save_model(random_model(test::tiny_config(), 1), model);
  ASSERT_EQ(run_headscope({"run", "--model", model, "--output", out, "--figures", "svg", "--quiet"})
                .exit_status,
            0);
  const std::string before = test::read_file(out + "/report.html");
  fs::remove(model);
  for (const char* drawn : {"tables", "figures", "report.html", "report.md"})
    fs::remove_all(out + "/" + drawn);
  const Finished refused = run_headscope({"report", out, "--figures", "svg,gif"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--figures: expected one of svg, png, pdf; got \"gif\""));
  const Finished finished = run_headscope({"report", out, "--figures", "pdf,png"});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_EQ(test::read_file(out + "/report.html"), before);
  const std::string figure = out + "/figures/parameter_counts";
  EXPECT_THAT(test::read_file(figure + ".pdf"), StartsWith("%PDF"));
  EXPECT_THAT(test::read_file(figure + ".png"), StartsWith("\x89PNG"));
  EXPECT_THAT(test::read_file(figure + ".svg"), HasSubstr("</svg>"));
}

TEST(CommandLine, ReportOfAnotherVersionsResultsSaysWhatToDo) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("results.h5");
  {
    hdf5::OutputFile file(path);
    file.set_attribute("", "format", std::string("headscope results 1"));
    file.publish();
  }
  expect_refused({"report", path}, 1,
                 path +
                     ":format: expected \"headscope results 3\", got \"headscope results 1\" of "
                     "an earlier version of Headscope; run again to make a new one");
  for (const char* const later : {"headscope results 4", "headscope results 10"}) {
    hdf5::OutputFile file(path);
    file.set_attribute("", "format", std::string(later));
    file.publish();
    expect_refused({"report", path}, 1,
                   path + ":format: expected \"headscope results 3\", got \"" + later +
                       "\" of a later version of Headscope, which reads it");
  }
}

TEST(CommandLine, OutputsOfAnEarlierRunGoAndOtherFilesStay) {
  const TemporaryDirectory directory;
  const std::string model = directory.file("model.h5"), out = directory.file("out");
  save_model(random_model(test::tiny_config(), 1), model);
  const auto run = [&](const char* analysis) {
    const Finished finished =
        run_headscope({"run", "--model", model, "--analyses", analysis, "--nulls", "2", "--figures",
                       "svg,pdf", "--output", out, "--quiet", "--force"});
    EXPECT_EQ(finished.exit_status, 0) << finished.err;
  };
  run("circuits");
  const std::vector<std::string> own{"figures/mine.pdf", "figures/mine.gp", "figures/qk_rank90.txt",
                                     "tables/mine.csv",  "tables/mine.tex", "notes.md"};
  for (const std::string& file : own) test::write_file(out + "/" + file, "mine");
  std::vector<std::string> drawn;
  for (const char* const folder : {"figures", "tables"}) {
    for (const auto& entry : fs::directory_iterator(out + "/" + folder)) {
      if (entry.path().filename() == "headscope-tables.txt") continue;  // written again
      if (test::read_file(entry.path().string()) != "mine") drawn.push_back(entry.path());
    }
  }
  ASSERT_GT(drawn.size(), 20U);
  run("parameters");
  for (const std::string& file : drawn) EXPECT_FALSE(fs::exists(file)) << file;
  for (const std::string& file : own) EXPECT_EQ(test::read_file(out + "/" + file), "mine");
}

TEST(CommandLine, RecordedCommandLineCanBeTypedAgain) {
  const TemporaryDirectory directory;
  const std::string model = directory.file("my model's.h5"), out = directory.file("out");
  save_model(random_model(test::tiny_config(), 1), model);
  ASSERT_EQ(
      test::run_headscope_without_gnuplot({"run", "--model", model, "--analyses", "parameters",
                                           "--nulls=2", "--output", out, "--quiet"})
          .exit_status,
      0);
  EXPECT_EQ(std::get<std::string>(read_results(out + "/results.h5").attributes.at("command_line")),
            "headscope run --model '" + directory.file("my model'\\''s.h5") +
                "' --analyses parameters --nulls=2 --output " + out + " --quiet");
}

TEST(CommandLine, ConfigThatIsAFolderIsRefused) {
  const TemporaryDirectory directory;
  expect_refused({"run", "--config", directory.path(), "--output", directory.file("out")}, 1,
                 directory.path() + ": expected a file, got a folder");
}

TEST(CommandLine, ConfigNamesNoOtherConfigAndAsksForNoHelp) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("run.cfg");
  for (const char* const option : {"config", "help"}) {
    test::write_file(path, std::string(option) + " = true\n");
    expect_refused(
        {"run", "--config", path, "--output", directory.file("out")}, 2,
        path + ": --" + option + ": expected on the command line, got in a file of options");
  }
  test::write_file(path, "quiet = maybe\n");
  EXPECT_THAT(run_headscope({"run", "--config", path, "--output", directory.file("out")}).err,
              AllOf(HasSubstr(path + ": "), HasSubstr("'maybe'"), HasSubstr("'quiet'")));
}

TEST(CommandLine, ConfigMayHaveAByteOrderMarkQuotesAndTheHomeFolder) {
  const TemporaryDirectory home;
  const std::string path = home.file("run.cfg");
  save_model(random_model(test::tiny_config(), 1), home.file("model.h5"));
  test::write_file(path, "\xEF\xBB\xBFmodel = ~/model.h5\noutput = \"" + home.file("an out") +
                             "\"\nanalyses = 'parameters'\nnulls = 2\nquiet = true\n");
  Words words = test::headscope_call({"run", "--config", path});
  words.insert(words.begin(), {"env", "HOME=" + home.path(), "PATH=/nonexistent"});
  const Finished finished = run_program(words);
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_TRUE(read_results(home.file("an out") + "/results.h5").has("parameters"));
}

TEST(CommandLine, AHashInAConfigIsACommentOnlyAfterABlankOutsideQuotes) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("run.cfg"), model = directory.file("m#1.h5");
  save_model(random_model(test::tiny_config(), 1), model);
  for (const auto& [line, folder] : {std::pair("out#1", "out#1"), std::pair("out # 2", "out"),
                                     std::pair("\"out # 3\" # 4", "out # 3")}) {
    const std::string value = std::string(line).insert(line[0] == '"' ? 1 : 0, directory.file(""));
    test::write_file(path, "# a = 'b\n  # c\nmodel = " + model + "\noutput = " + value +
                               "\nanalyses = parameters\t# d\nnulls = 2#\nquiet = true\n");
    EXPECT_EQ(run_headscope({"run", "--config", path}).err,
              "headscope: --nulls: expected a whole number from 0 to 1000000000, got \"2#\"\n");
    const Finished finished =
        test::run_headscope_without_gnuplot({"run", "--config", path, "--nulls", "2"});
    ASSERT_EQ(finished.exit_status, 0) << finished.err;
    EXPECT_TRUE(fs::exists(directory.file(folder) + "/results.h5")) << line;
  }
  test::write_file(path, "n#ulls = 2\n");
  EXPECT_THAT(run_headscope({"run", "--config", path, "--output", directory.file("x")}).err,
              AllOf(StartsWith("headscope: " + path + ": "), HasSubstr("n#ulls")));
}

TEST(CommandLine, ConfigFileSetsOptionsAndTheCommandLineWins) {
  const TemporaryDirectory directory;
  const std::string model = directory.file("model.h5"), out = directory.file("out");
  save_model(random_model(test::tiny_config(), 1), model);
  test::write_file(directory.file("run.cfg"),
                   "model = " + model + "\nseed = 5\nnulls = 7\nquiet = true\n");
  const Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--config", directory.file("run.cfg"), "--seed", "6", "--output", out});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err, IsEmpty());
  const Results results = read_results(out + "/results.h5");
  EXPECT_EQ(std::get<std::int64_t>(results.attributes.at("seed")), 6);
  EXPECT_THAT(std::get<std::string>(results.attributes.at("options")),
              HasSubstr("\"nulls\":\"7\""));
}

TEST(CommandLine, ConvertWritesAModelThatLoadsEqual) {
  const TemporaryDirectory directory;
  const std::string in = directory.file("in.h5"), out = directory.file("out.h5");
  const Model model = random_model(test::tiny_config(), 3);
  save_model(model, in);
  const Finished finished = run_headscope({"convert", in, out});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  const Model converted = load_model(out);
  EXPECT_TRUE(arma::approx_equal(converted.W_E, model.W_E, "absdiff", 0));
  EXPECT_TRUE(arma::approx_equal(converted.layers[1].W_QKV, model.layers[1].W_QKV, "absdiff", 0));
}

TEST(Waits, NotForAPipeAsInput) {
  const test::TemporaryDirectory folder;
  const std::string output = folder.file("out");
  for (const char* const name : {"pipe", "pipe.json", "pipe.txt", "pipe.conllu"}) {
    const std::string pipe = folder.file(name);
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const std::string expected = pipe + ": expected a file";
    EXPECT_THAT(test::run_headscope({"inspect", pipe}).err, HasSubstr(expected));
    EXPECT_THAT(test::run_headscope({"run", "--model", pipe, "--output", output}).err,
                HasSubstr(expected));
    EXPECT_THAT(test::run_headscope({"run", "--config", pipe, "--output", output}).err,
                HasSubstr(expected));
    EXPECT_THAT(test::run_headscope({"run", "--corpus", pipe, "--output", output}).err,
                HasSubstr(expected));
  }
}

#ifndef HEADSCOPE_SANITIZED  // sanitizers need the address space
TEST(Waits, NotForeverForMemory) {
  if (blas::library_description().find("OpenBLAS 0.3.21 ") == std::string::npos) {
    GTEST_SKIP() << blas::library_description()
                 << ", unlike 0.3.21, may wait for memory before the program begins";
  }
  for (const int mebibytes : {60, 100, 150, 200, 250, 300, 400}) {
    const std::string limit = "ulimit -v " + std::to_string(1024 * mebibytes) + "; exec \"$@\"";
    const test::TemporaryDirectory folder;
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"list"},
          {"run", "--analyses", "parameters", "--nulls", "1", "--threads", "2", "--quiet",
           "--figures", "svg", "--output", folder.file("out")}}) {
      std::vector<std::string> words = test::headscope_call(arguments);
      words.insert(words.begin(), {"sh", "-c", limit, "sh"});
      const test::Finished finished = test::run_program(words);
      EXPECT_TRUE(finished.exit_status == 0 || !finished.err.empty()) << mebibytes;
    }
  }
}
#endif

TEST(Waits, NotForAModelOfAnyNumberOfLayers) {
  const test::TemporaryDirectory folder;
  test::write_file(
      folder.file("config.json"),
      R"({"n_layer": 1000000000, "n_head": 2, "n_embd": 4, "n_positions": 8, "vocab_size": 9})");
  EXPECT_THAT(test::run_headscope({"inspect", folder.file("config.json")}).err,
              HasSubstr("n_layer: expected at most 10000, got 1000000000"));
}

TEST(ErrorLine, IsCutWhereItEchoesALongText) {
  const test::TemporaryDirectory folder;
  test::write_file(folder.file("vocab.json"), "{\"" + std::string(3'000'000, 'x') + "\": 7}");
  test::write_file(folder.file("merges.txt"), "");
  const test::Finished finished =
      test::run_headscope({"run", "--tokenizer", folder.path(), "--output", folder.file("out")});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_LT(finished.err.size(), 5000U);
  EXPECT_THAT(finished.err, HasSubstr(" bytes ...] "));
}

}  // namespace
}  // namespace headscope
