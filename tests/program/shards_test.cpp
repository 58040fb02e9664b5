#include <algorithm>
#include <cmath>
#include <map>

#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "headscope/random.hpp"
#include "option_parser.hpp"
#include "program/program_test.hpp"
#include "registry.hpp"
#include "results/statistics_file.hpp"
#include "run/engine_record.hpp"
#include "run_setup.hpp"
#include "support/message_of.hpp"

namespace headscope {
namespace {

const std::string corpus_file = HEADSCOPE_TEST_DATA "/classification.conllu";
const std::string task_file = HEADSCOPE_TEST_DATA "/two_tasks.jsonl";
const std::string model_file = HEADSCOPE_PROJECT_DIR "/data/planted-model.h5";

/// With an engine named: a trial in each folder need not choose the same one.
/// @param more  options with their values; they replace the defaults here or add to them.
Words shard_arguments(const std::string& output, const Words& more = {}) {
  std::map<std::string, std::string> options{
      {"--model", model_file},     {"--corpus", corpus_file},
      {"--max-documents", "5"},    {"--prune-documents", "3"},
      {"--ablate-documents", "2"}, {"--patterns", "2"},
      {"--bootstrap", "20"},       {"--nulls", "3"},
      {"--js-queries", "9"},       {"--threads", "1"},
      {"--output", output},        {"--tasks", task_file},
      {"--task-pairs", "12"},      {"--engine", "float32"},
      {"--paths-pairs", "8"},      {"--paths-repeated", "8"},
      {"--paths-exact", "5"},      {"--explain-documents", "1"},
      {"--score-queries", "60"},   {"--score-effect-documents", "1"}};
  for (std::size_t i = 0; i + 1 < more.size(); i += 2) options[more[i]] = more[i + 1];
  Words arguments{"--quiet"};
  for (const auto& [name, value] : options) arguments.insert(arguments.end(), {name, value});
  return arguments;
}

/// Prepares every analysis in one process. @param use  called with the prepared run.
template <typename Use>
auto with_run(const std::string& output, const Words& more, const Use& use) {
  RunOptions options;
  EXPECT_TRUE(parse_options("run", shard_arguments(output, more), options.table));
  RunSetup setup(options);
  setup.keep_engines();
  ShardRun run(setup.input(), options.run_files());
  return use(run);
}

/// Runs every analysis in one process.
std::optional<Results> run_shard(const std::string& output, const Words& more = {}) {
  return with_run(output, more, [](ShardRun& run) {
    Progress quiet(true);
    return run.results(quiet);
  });
}

/// Runs the passes of a shard that need no unfinished pass of another shard.
/// @return has the shard finished its last pass?
bool finish_shard(const std::string& output, const Words& more) {
  return with_run(output, more, [](ShardRun& run) {
    Progress quiet(true);
    run.results(quiet);
    return run.is_finished();
  });
}

/// Of every analysis, and ten controls.
constexpr int n_all_passes = 25;

Words pass_files(const std::string& output) {
  Words paths;
  for (const auto& entry : fs::directory_iterator(output + "/shards")) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Runs all shards until all are finished; the order changes from round to round.
void run_shards(const std::string& output, int n_shard, const Words& more = {}) {
  int n_finished = 0;
  for (int round = 0; n_finished < n_shard && round <= n_all_passes; ++round) {
    n_finished = 0;
    for (int i = 0; i < n_shard; ++i) {
      Words arguments = more;
      arguments.insert(arguments.end(), {"--shard", std::to_string((i + round) % n_shard + 1) +
                                                        "/" + std::to_string(n_shard)});
      if (finish_shard(output, arguments)) ++n_finished;
    }
  }
  ASSERT_EQ(n_finished, n_shard);
}

Results merge(const Words& shards, bool mixed = false) {
  const ShardTable table(shards, mixed);
  RunOptions options;
  options.restore(table.label().options, table.first_path());
  options.files.mixed = mixed;
  Progress quiet(true);
  const RunSetup setup(options);
  return merge_shards(setup.input(), table, quiet);
}

std::string error_of_merging(const Words& shards) {
  return test::message_of([&] { merge(shards); });
}

/// Results of the run without shards, computed once.
const Results& whole_run() {
  static const Results results = [] {
    const TemporaryDirectory folder;
    return *run_shard(folder.path(), {"--control", "random"});
  }();
  return results;
}

TEST(Shards, WholeRunHoldsEveryAnalysis) {
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    EXPECT_TRUE(whole_run().has(analysis.info.name)) << analysis.info.name;
  }
  EXPECT_TRUE(whole_run().has("control/correlation"));
}

/// The p-th quantile, with the i-th of n values at (i - 1/2) / n. Source: Hazen 1914.
double hazen_quantile(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const double place = p * static_cast<double>(values.size()) - 0.5;
  const auto below = static_cast<std::size_t>(place);
  return values[below] + (place - std::floor(place)) * (values[below + 1] - values[below]);
}

TEST(Shards, PermutedScoreIsReachedByFewHeadsOfModelsWithPermutedWeights) {
  const Model model = load_model(model_file);
  const TemporaryDirectory folder;
  std::vector<double> pooled;
  for (std::uint64_t number = 6; number <= 10; ++number) {
    const std::string path = folder.file("permuted.h5");
    const std::uint64_t seed = CounterRandom(0, std::uint64_t{1} << 62).value(number - 1);
    save_model(permuted_model(model, seed), path);
    const Results permuted = *run_shard(folder.file(std::to_string(number)),
                                        {"--model", path, "--analyses", "classification"});
    const Array& effects = permuted.group("classification").values("copy_effect");
    pooled.insert(pooled.end(), effects.values.begin(), effects.values.end());
  }
  const ResultsGroup& group = whole_run().group("classification");
  const std::size_t copying = group.dimension("head_type").index_of("copying");
  const double reached = group.values("permuted_score")(copying);
  EXPECT_NEAR(reached, hazen_quantile(pooled, 0.95), 1e-6 * std::abs(reached));
  const Array threshold = group.values("type_threshold").part(copying);
  for (const double of_head : threshold.values) EXPECT_EQ(of_head, std::max(0.1, reached));
  EXPECT_TRUE(
      std::isnan(group.values("permuted_score")(group.dimension("head_type").index_of("sink"))));
  EXPECT_THAT(group.variable("type_rule").text[copying],
              HasSubstr(", and above 95 % of heads with permuted weights ("));
}

TEST(ShardEngines, AreThoseThatTheFirstProcessRecordedInTheFolder) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out"), record = output + "/engines.json";
  const auto run = [&](const std::string& shard, const std::string& precision) {
    Words arguments = shard_arguments(output, {"--shard", shard, "--precision", precision,
                                               "--analyses", "correlation", "--engine", "trial"});
    arguments.insert(arguments.begin(), "run");
    return test::run_headscope(arguments);
  };
  ASSERT_EQ(run("1/2", "high").exit_status, 0);
  EngineRecord first = read_engine_record(output).value();
  // As if the trial of the first process had found another engine.
  const bool was_int16 = first.engines.differences == Engine::int16;
  first.engines.differences = was_int16 ? Engine::float32 : Engine::int16;
  write_engine_record(output, first);
  ASSERT_EQ(run("2/2", "high").exit_status, 0);
  EXPECT_EQ(read_engine_record(output)->engines, first.engines) << "the record stays";
  const auto multiplies_by_int16 = [&](int shard) {
    const std::string path = output + "/shards/" + std::to_string(shard) + "-of-2.pass-1.h5";
    return arithmetic_text(read_pass_label(path).arithmetic).find("int16") != std::string::npos;
  };
  EXPECT_EQ(multiplies_by_int16(1), was_int16);
  EXPECT_EQ(multiplies_by_int16(2), !was_int16);
  const test::Finished other = run("2/2", "fast");
  EXPECT_EQ(other.exit_status, 1);
  EXPECT_EQ(other.err, "headscope: " + output +
                           "/shards/1-of-2.pass-1.h5: --precision is high, but fast in this run\n");
  EXPECT_EQ(read_engine_record(output)->request.at("--precision"), "high");
}

TEST(ShardEngines, OfAnEarlierRunAreReplacedWhereNothingHasBegun) {
  const TemporaryDirectory folder;
  write_engine_record(folder.path(), {.request = {{"model SHA-256", "of another model"}}});
  Words arguments = shard_arguments(
      folder.path(), {"--shard", "1/2", "--analyses", "correlation", "--engine", "trial"});
  arguments.insert(arguments.begin(), "run");
  const test::Finished finished = test::run_headscope(arguments);
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_NE(read_engine_record(folder.path())->request.at("model SHA-256"), "of another model");
}

TEST(ShardEngines, OfAMergeAndAResumedRunAreThoseOfItsPassFiles) {
  const TemporaryDirectory folder;
  const Words high{"--precision", "high", "--engine", "int16", "--analyses", "pruning"};
  run_shards(folder.file("a"), 2, high);
  const auto engine =
      std::get<std::string>(merge({folder.file("a")}).attributes.at("precision_engine"));
  EXPECT_EQ(engine, "int16");
  RunOptions resumed;
  const std::string path = pass_files(folder.file("a")).front();
  resumed.restore(read_pass_label(path).options, path);
  const RunSetup setup(resumed);
  EXPECT_EQ(resumed.settings.engines, (Engines{Engine::float32, Engine::int16, Engine::int16,
                                               Engine::float32, Engine::int16}));
}

class ShardCount : public testing::TestWithParam<int> {};

TEST_P(ShardCount, DoesNotChangeABitOfAnyAnalysis) {
  const TemporaryDirectory folder;
  run_shards(folder.path(), GetParam(), {"--control", "random"});
  Words files = pass_files(folder.path());
  EXPECT_EQ(files.size(), static_cast<std::size_t>(n_all_passes * GetParam()));
  std::reverse(files.begin(), files.end());
  const Results merged = merge(files);
  EXPECT_EQ(first_difference(merged, whole_run()), "");
  EXPECT_EQ(merged.attributes.at("n_token"), whole_run().attributes.at("n_token"));
}

// Five documents in two uneven shards, in three, and in seven, two of them empty.
INSTANTIATE_TEST_SUITE_P(Shards, ShardCount, testing::Values(2));
INSTANTIATE_TEST_SUITE_P(Thorough, ShardCount, testing::Values(3, 7));

class LowPrecisionShards : public testing::TestWithParam<const char*> {};

TEST_P(LowPrecisionShards, DoNotChangeABitEither) {
  const TemporaryDirectory folder;
  const Words more{"--analyses", "pruning", "--precision", GetParam(), "--engine", "int16"};
  const Results single = *run_shard(folder.file("whole"), more);
  run_shards(folder.file("shards"), 2, more);
  EXPECT_EQ(first_difference(merge(pass_files(folder.file("shards"))), single), "");
}

INSTANTIATE_TEST_SUITE_P(Shards, LowPrecisionShards, testing::Values("fast"));
INSTANTIATE_TEST_SUITE_P(Thorough, LowPrecisionShards, testing::Values("high"));

/// Has the group a variable with an interval that is not NaN?
bool has_finite_interval(const ResultsGroup& group) {
  return std::ranges::any_of(group.variables, [](const Variable& variable) {
    return variable.interval && std::ranges::any_of(variable.interval->low.values,
                                                    [](double low) { return std::isfinite(low); });
  });
}

TEST(Shards, IgnoreTheSavedStateOfAFinishedPass) {
  const TemporaryDirectory folder;
  const Words first{"--analyses", "correlation", "--shard", "1/2"};
  ASSERT_TRUE(finish_shard(folder.path(), first));
  // As if the process had been killed before it removed the saved state.
  with_run(folder.path(), first, [](ShardRun& run) { run.folder().save(1, 1, {}); });
  EXPECT_TRUE(finish_shard(folder.path(), first));
  EXPECT_EQ(pass_files(folder.path()), Words{folder.file("shards/1-of-2.pass-1.h5")});
}

// With fewer than least_documents, intervals are NaN in both runs: no error would show in them.
TEST(Shards, OfEnoughDocumentsForIntervalsDoNotChangeThem) {
  const TemporaryDirectory folder;
  const std::string model = folder.file("model.h5");
  save_model(random_model(test::config_of({.n_layer = 2,
                                           .n_head = 2,
                                           .d_model = 16,
                                           .d_mlp = 32,
                                           .n_ctx = 192,
                                           .d_vocab = 2560}),
                          1),
             model);
  const Words more{"--model",
                   model,
                   "--tokenizer",
                   HEADSCOPE_PROJECT_DIR "/data/tokenizer",
                   "--corpus",
                   HEADSCOPE_SHORT_STORIES,
                   "--tasks",
                   HEADSCOPE_PROJECT_DIR "/data/tasks.jsonl",
                   "--analyses",
                   "correlation,pruning,tasks",
                   "--max-documents",
                   "24",
                   "--prune-documents",
                   "24",
                   "--ablate-documents",
                   "21",
                   "--task-pairs",
                   "24",
                   "--bootstrap",
                   "40"};
  const Results single = *run_shard(folder.file("whole"), more);
  for (const char* const analysis : {"correlation", "pruning", "tasks"}) {
    EXPECT_TRUE(has_finite_interval(single.group(analysis))) << analysis;
  }
  run_shards(folder.file("shards"), 2, more);
  EXPECT_EQ(first_difference(merge({folder.file("shards")}), single), "");
}

/// Two shards of an analysis with one pass.
class MergeRefusal : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryDirectory;
    run_shards(folder_->file("a"), 2, one_pass());
  }
  static void TearDownTestSuite() { delete folder_; }
  static Words one_pass(const Words& more = {}) {
    Words words{"--analyses", "correlation"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string shard(const std::string& output, int number, int n_shard = 2) {
    return folder_->file(output) + "/shards/" + std::to_string(number) + "-of-" +
           std::to_string(n_shard) + ".pass-1.h5";
  }
  /// The error of merging the shards of "a" as those of another run.
  /// @param epsilon  of the run's model, in epsilons of theirs.
  static std::string error_of_merging_as(const Words& corpus, double epsilon) {
    const ShardTable table({folder_->file("a")}, false);
    RunOptions options;
    options.restore(table.label().options, table.first_path());
    options.table.at("corpus").set(corpus);
    const RunSetup setup(options);
    const RunInput input = setup.input();
    Model model = setup.model();
    model.config.layer_norm_epsilon *= epsilon;
    const AnalysisContext& context = input.context;
    const RunInput other{.context = {model, context.corpus, context.settings, context.tasks},
                         .analyses = input.analyses,
                         .identity = input.identity};
    Progress quiet(true);
    return test::message_of<DataError>([&] { merge_shards(other, table, quiet); });
  }

  static TemporaryDirectory* folder_;
};
TemporaryDirectory* MergeRefusal::folder_ = nullptr;

TEST_F(MergeRefusal, NamesAMissingShard) {
  EXPECT_EQ(
      error_of_merging({shard("a", 2)}),
      folder_->file("a/shards") + ": expected 1 passes of 2 shards, missing pass 1 of shard 1");
}

TEST_F(MergeRefusal, NamesADuplicateShard) {
  fs::copy_file(shard("a", 2), folder_->file("copy.h5"));
  EXPECT_EQ(error_of_merging({shard("a", 1), shard("a", 2), folder_->file("copy.h5")}),
            folder_->file("copy.h5") +
                ": expected each shard once, got pass 1 of shard 2 here and in " + shard("a", 2));
}

TEST_F(MergeRefusal, NamesWhatIsForeign) {
  run_shard(folder_->file("b"), one_pass({"--seed", "4", "--shard", "2/2"}));
  EXPECT_EQ(error_of_merging({shard("a", 1), shard("b", 2)}),
            shard("b", 2) + ": --seed is 4, but 0 in " + shard("a", 1));
  run_shard(folder_->file("c"),
            one_pass({"--corpus", HEADSCOPE_PROJECT_DIR "/data/stories.conllu", "--shard", "2/2"}));
  EXPECT_THAT(error_of_merging({shard("a", 1), shard("c", 2)}),
              HasSubstr(shard("c", 2) + ": corpus SHA-256 is "));
  run_shard(folder_->file("d"), one_pass({"--model", HEADSCOPE_PROJECT_DIR "/data/default-model.h5",
                                          "--shard", "2/2"}));
  EXPECT_THAT(error_of_merging({shard("a", 1), shard("d", 2)}),
              HasSubstr(shard("d", 2) + ": model SHA-256 is "));
  run_shard(folder_->file("e"), one_pass({"--shard", "2/3"}));
  EXPECT_EQ(error_of_merging({shard("a", 1), shard("e", 2, 3)}),
            shard("e", 2, 3) + ": the number of shards is 3, but 2 in " + shard("a", 1));
  StatisticsFile other = load_statistics(shard("a", 2));
  std::string& identity = other.texts.at("identity");
  identity.replace(identity.find("\"version\":\"") + 11, 1, "9");
  save_statistics(other.texts, other.parts, folder_->file("f.h5"));
  EXPECT_THAT(error_of_merging({shard("a", 1), folder_->file("f.h5")}),
              HasSubstr("f.h5: version is 9."));
}

TEST_F(MergeRefusal, NamesAFileThatBecameAnotherShardOnTheWay) {
  const std::string changing = folder_->file("changing.h5");
  fs::copy_file(shard("a", 2), changing);
  const ShardTable table({shard("a", 1), changing}, false);
  fs::copy_file(shard("a", 1), changing, fs::copy_options::overwrite_existing);
  RunOptions options;
  options.restore(table.label().options, table.first_path());
  const RunSetup setup(options);
  Progress quiet(true);
  EXPECT_EQ(test::message_of<DataError>([&] { merge_shards(setup.input(), table, quiet); }),
            changing + ": expected pass 1 of shard 2, got pass 1 of shard 1");
}

TEST_F(MergeRefusal, NamesTheShardMadeWithOtherThreadsUnlessMixingIsAllowed) {
  run_shard(folder_->file("h"), one_pass({"--shard", "1/2", "--threads", "1"}));
  run_shard(folder_->file("h"), one_pass({"--shard", "2/2", "--threads", "2"}));
  const Words shards{shard("h", 1), shard("h", 2)};
  EXPECT_THAT(error_of_merging(shards),
              AllOf(HasSubstr(shard("h", 2) + ": the arithmetic is OpenBLAS "),
                    HasSubstr(", 2 threads, but OpenBLAS "),
                    HasSubstr(", 1 thread in " + shard("h", 1) + "; ")));
  const auto arithmetic = std::get<std::string>(merge(shards, true).attributes.at("arithmetic"));
  EXPECT_THAT(arithmetic, AllOf(HasSubstr(", 1 thread; OpenBLAS "), EndsWith(", 2 threads")));
}

TEST_F(MergeRefusal, TakesTheThreadsOfTheShards) {
  const std::string output = folder_->file("i");
  run_shards(output, 2, one_pass({"--threads", "2"}));
  blas::set_thread_count(1);
  const auto arithmetic = std::get<std::string>(merge({output}).attributes.at("arithmetic"));
  EXPECT_THAT(arithmetic, EndsWith(", 2 threads"));
}

TEST_F(MergeRefusal, NamesTheShardMadeWithAnotherKernel) {
  const std::string output = folder_->file("j");
  const auto call = [&](const char* kernel, const Words& arguments) {
    Words words = test::headscope_call(arguments);
    words.insert(words.begin(),
                 {"env", std::string("OPENBLAS_CORETYPE=") + kernel, "PATH=/nonexistent"});
    return test::run_program(words);
  };
  const auto run_part = [&](const char* kernel, const char* part) {
    Words arguments = shard_arguments(output, one_pass({"--shard", part}));
    arguments.insert(arguments.begin(), "run");
    EXPECT_EQ(call(kernel, arguments).exit_status, 0);
  };
  run_part("Prescott", "1/2");
  run_part("Nehalem", "2/2");
  const Words merging{"merge", output, "--output", output};
  const test::Finished refused = call("Prescott", merging);
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(shard("j", 2) + ": the arithmetic is OpenBLAS "),
                                 HasSubstr(" Prescott, "), HasSubstr(" Nehalem, "),
                                 EndsWith("round differently: set OPENBLAS_CORETYPE and --threads "
                                          "alike, or allow it with --mixed\n")));
  EXPECT_FALSE(fs::exists(output + "/results.h5"));
  Words mixing = merging;
  mixing.push_back("--mixed");
  const test::Finished mixed = call("Prescott", mixing);
  ASSERT_EQ(mixed.exit_status, 0) << mixed.err;
  const auto arithmetic =
      std::get<std::string>(read_results(output + "/results.h5").attributes.at("arithmetic"));
  EXPECT_THAT(arithmetic, AllOf(HasSubstr(" Nehalem, "), HasSubstr(" Prescott, ")));
}

TEST_F(MergeRefusal, NamesACorpusThatChanged) {
  const std::string corpus = folder_->file("corpus.conllu");
  fs::copy_file(corpus_file, corpus);
  run_shards(folder_->file("g"), 2, one_pass({"--corpus", corpus}));
  test::write_file(corpus, test::read_file(corpus) + "\n");
  EXPECT_THAT(error_of_merging({folder_->file("g")}), HasSubstr(": corpus SHA-256 is "));
}

TEST_F(MergeRefusal, NamesTheSameBytesInOtherFiles) {
  const std::string text = test::read_file(corpus_file), first = folder_->file("first.conllu"),
                    second = folder_->file("second.conllu");
  const std::size_t end = text.find("# newdoc", 1);
  test::write_file(first, text.substr(0, end));
  test::write_file(second, text.substr(end));
  EXPECT_THAT(error_of_merging_as({first, second}, 1),
              HasSubstr(shard("a", 1) + ": corpus layout SHA-256 is "));
}

TEST_F(MergeRefusal, NamesTheSameWeightsWithAnotherConfig) {
  EXPECT_THAT(error_of_merging_as({corpus_file}, 2),
              HasSubstr(shard("a", 1) + ": model config SHA-256 is "));
}

TEST_F(MergeRefusal, NamesWhatIsNoShard) {
  EXPECT_EQ(error_of_merging({model_file}),
            model_file +
                ": expected a statistics file (format \"headscope statistics 3\"), found another "
                "HDF5 file");
  EXPECT_EQ(error_of_merging({folder_->path()}),
            folder_->path() + ": expected shards (K-of-N.pass-P.h5), got none");
}

TEST(ShardOption, RefusesWhatIsNoShard) {
  for (const char* wrong :
       {"0/3", "4/3", "1", "1/", "/3", "1/3x", "-1/3", "1/0", "1/1", "99999999/9"}) {
    const test::Finished finished = test::run_headscope({"run", "--output", "x", "--shard", wrong});
    EXPECT_EQ(finished.exit_status, 2);
    EXPECT_EQ(finished.err,
              std::string("headscope: --shard: expected K/N with N of at least 2 and K from 1 to N "
                          "(a run without --shard is whole), got \"") +
                  wrong + "\"\n");
  }
}

TEST(ShardOption, IsNamedWhereAFolderHoldsShardsAlone) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(finish_shard(folder.path(), {"--analyses", "correlation", "--shard", "2/3"}));
  const test::Finished finished =
      test::run_headscope({"run", "--output", folder.path(), "--resume"});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_EQ(finished.err, "headscope: " + folder.file("shards/2-of-3.pass-1.h5") +
                              ": the number of shards is 3, but 1 in this run; continue it with "
                              "--shard K/3\n");
}

TEST(Shards, OfRunsOfDifferentNumbersOfShardsAreAllShown) {
  const TemporaryDirectory folder;
  for (const char* const shard : {"2/3", "2/2", "1/2"}) {
    ASSERT_TRUE(finish_shard(folder.path(), {"--analyses", "correlation", "--shard", shard}));
  }
  const std::string shown = test::run_headscope({"inspect", folder.path()}).out;
  for (const char* const text :
       {"shard 1 of 2 ", "shard 2 of 2 ", "shard 2 of 3 ", "shards/*-of-2.pass-*.h5 --output DIR",
        "shards/*-of-3.pass-*.h5 --output DIR"}) {
    EXPECT_THAT(shown, HasSubstr(text));
  }
}

TEST(ShardOption, ResumesWithNoneOfTheOptionsOrThoseOfFilesToo) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  const auto shard = [&](const std::string& number) {
    Words arguments = shard_arguments(output, {"--analyses", "correlation", "--shard", number});
    arguments.insert(arguments.begin(), "run");
    arguments.emplace_back("--resume");
    return test::run_headscope(arguments);
  };
  EXPECT_EQ(shard("1/2").exit_status, 0) << "begins where nothing was saved";
  const test::Finished refused = test::run_headscope(
      {"run", "--output", output, "--shard", "2/2", "--resume", "--figures", "svg"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_EQ(refused.err,
            "headscope: --resume: expected none of the options of the unfinished run or all of "
            "them, got some without --model\n");
  EXPECT_EQ(pass_files(output).size(), 1U);
  test::write_file(output + "/shards/1-of-2.pass-0.saved", "damaged");
  EXPECT_EQ(shard("2/2").exit_status, 0) << "another shard's state is not this one's";
  EXPECT_EQ(pass_files(output).size(), 3U);
}

TEST(ShardOption, NeedsAnAnalysisOfText) {
  const TemporaryDirectory folder;
  const test::Finished finished =
      test::run_headscope({"run", "--output", folder.file("out"), "--shard", "1/2", "--analyses",
                           "parameters,circuits"});
  EXPECT_EQ(finished.exit_status, 2);
  EXPECT_THAT(finished.err,
              testing::EndsWith(
                  "headscope: --shard: expected an analysis of text, whose documents or pairs it "
                  "shares out, got circuits,parameters\n"));
  EXPECT_THAT(finished.err, testing::Not(testing::HasSubstr("--corpus"))) << "none was given";
  EXPECT_FALSE(fs::exists(folder.file("out")));
}

TEST(ShardsFromTheCommandLine, OfSeveralDivisionsInOneFolderAreMergedAsTheLastShardSays) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  const auto run = [&](const std::string& shard) {
    Words arguments = shard_arguments(output, {"--shard", shard, "--analyses", "correlation"});
    arguments.insert(arguments.begin(), "run");
    std::erase(arguments, "--quiet");
    return test::run_headscope(arguments).err;
  };
  run("1/3");
  for (const char* const shard : {"1/2", "2/2"}) {
    const std::string command = "headscope merge " + output + "/shards/*-of-2.pass-*.h5";
    EXPECT_THAT(run(shard), HasSubstr("when all are: " + command + " --output DIR\n"));
  }
  EXPECT_THAT(test::run_headscope({"inspect", output}).out, HasSubstr("/shards/*-of-2.pass-*.h5"));
  const std::string shards = output + "/shards/";
  EXPECT_EQ(test::run_headscope_without_gnuplot({"merge", shards + "1-of-2.pass-1.h5",
                                                 shards + "2-of-2.pass-1.h5", "--output",
                                                 folder.file("merged")})
                .exit_status,
            0);
}

TEST(ShardsFromTheCommandLine, StopOrWaitForOneAnotherAndMerge) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  const Words analyses{"--analyses", "correlation,pruning"};
  const auto call = [&](const char* shard, bool wait) {
    Words arguments = shard_arguments(output, {"--shard", shard});
    arguments.insert(arguments.end(), analyses.begin(), analyses.end());
    arguments.insert(arguments.begin(), "run");
    arguments.erase(std::find(arguments.begin(), arguments.end(), "--quiet"));
    if (wait) arguments.push_back("--wait");
    return test::headscope_call(arguments);
  };
  const test::Finished alone = test::run_program(call("2/2", false));
  EXPECT_EQ(alone.exit_status, 0);
  EXPECT_THAT(alone.err,
              EndsWith("shard 2 of 2: pass 1 is finished; the next needs pass 1 of shard "
                       "1; run this command again when it is there\n"));
  Running first(call("1/2", true)), second(call("2/2", true));
  EXPECT_EQ(first.wait().exit_status, 0);
  EXPECT_THAT(second.wait().err,
              HasSubstr("shard 2 of 2 is finished; when all are: headscope merge " + output +
                        "/shards --output DIR\n"));
  const test::Finished merged =
      test::run_headscope_without_gnuplot({"merge", output, "--output", output});
  ASSERT_EQ(merged.exit_status, 0) << merged.err;
  const Results single = *run_shard(folder.file("single"), analyses);
  EXPECT_EQ(first_difference(read_results(output + "/results.h5"), single), "");
  EXPECT_TRUE(fs::exists(output + "/report.html"));
  Words again{"merge", output, "--output", output, "--quiet"};
  const test::Finished refused = test::run_headscope_without_gnuplot(again);
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_EQ(refused.err, "headscope: " + output +
                             ": holds the results of a finished run; --force replaces them, or "
                             "choose another folder\n");
  again.emplace_back("--force");
  EXPECT_EQ(test::run_headscope_without_gnuplot(again).exit_status, 0);
}

}  // namespace
}  // namespace headscope
