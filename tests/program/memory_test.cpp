#include <algorithm>
#include <fstream>
#include <regex>

#include "headscope/parameters.hpp"
#include "headscope/results.hpp"
#include "headscope/run_memory.hpp"
#include "memory_limits.hpp"
#include "program/program_test.hpp"
#include "registry.hpp"
#include "support/results_sample.hpp"
#include "support/token_corpus.hpp"

namespace headscope {
namespace {

/// Peak memory of a run over the first `n_document` stories, in KiB.
double peak_memory(const std::string& n_document) {
  const TemporaryDirectory folder;
  const Finished finished =
      test::run_headscope_without_gnuplot({"run",
                                           "--model",
                                           HEADSCOPE_PROJECT_DIR "/data/planted-model.h5",
                                           "--corpus",
                                           HEADSCOPE_PROJECT_DIR "/data/stories.conllu",
                                           "--analyses",
                                           "correlation,classification,attention",
                                           "--engine",
                                           "float32",
                                           "--max-documents",
                                           n_document,
                                           "--bootstrap",
                                           "20",
                                           "--explain-documents",
                                           "1",
                                           "--threads",
                                           "1",
                                           "--quiet",
                                           "--output",
                                           folder.path()});
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  return static_cast<double>(finished.peak_kib);
}

// The address sanitizer keeps freed memory and shadows all memory.
#ifdef HEADSCOPE_SANITIZED
constexpr bool memory_can_be_measured = false;
#else
constexpr bool memory_can_be_measured = true;
#endif

TEST(Memory, StaysTheSameForTenTimesTheCorpus) {
  if (!memory_can_be_measured) GTEST_SKIP() << "the address sanitizer's own memory counts";
  const double few = peak_memory("8"), many = peak_memory("80");
  // The allocator's pages differ from run to run by some per cent.
  EXPECT_LT(many, 1.05 * few) << few << " KiB for 8 documents";
}

ModelConfig config_of(Index n_layer, Index n_head, Index d_model, Index d_mlp, Index n_ctx) {
  return test::config_of({.n_layer = n_layer,
                          .n_head = n_head,
                          .d_model = d_model,
                          .d_mlp = d_mlp,
                          .n_ctx = n_ctx,
                          .d_vocab = 2560});
}

/// A wide model, whose patterns and sums take a large share of the memory.
ModelConfig wide_config() {
  return config_of(2, 4, 512, 2048, 512);
}

/// A model whose context is much longer than its documents.
ModelConfig long_config() {
  return config_of(2, 4, 512, 2048, 2048);
}

const RegisteredAnalysis& analysis_named(const std::string& name) {
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (analysis.info.name == name) return analysis;
  }
  throw std::out_of_range(name);
}

struct MeasuredRun {
  const char* analysis;
  const char* shape;
  ModelConfig config;
  const char *precision = "float32", *engine = "float32";
  Index n_token = 0;  ///< of a document, without tasks; 0: the context, with tasks
};

/// A run within the memory that the program states as its least.
struct RunAtEstimate {
  Finished finished;
  double estimate = 0, peak = 0;  ///< KiB
};

/// The program's estimate and a run that is given no more. What the weights alone need is refused
/// first.
RunAtEstimate run_at_estimate(const Words& arguments, const std::string& output) {
  RunAtEstimate run;
  for (std::string memory = "1M"; !memory.empty();) {
    Words limited = arguments;
    limited.insert(limited.end(), {"--memory", memory, "--output", output});
    run.finished = test::run_headscope_without_gnuplot(limited);
    std::smatch stated;
    memory.clear();
    if (std::regex_search(run.finished.err, stated, std::regex("at least ([0-9.]+) (M|G)iB"))) {
      const double estimate = std::stod(stated[1]) * (stated[2] == "G" ? 1024 * 1024 : 1024);
      if (estimate <= run.estimate) break;
      run.estimate = estimate;
      memory = std::to_string(static_cast<int>(estimate * 1.01 / 1024) + 1) + "M";
    }
  }
  run.peak = static_cast<double>(run.finished.peak_kib);
  return run;
}

/// A run of one analysis on a few documents.
class MemoryOf : public testing::TestWithParam<MeasuredRun> {};

TEST_P(MemoryOf, AnAnalysisIsNearItsEstimate) {
  if (!memory_can_be_measured) GTEST_SKIP() << "the address sanitizer's own memory counts";
  const TemporaryDirectory folder;
  const ModelConfig& config = GetParam().config;
  // Heads look at their own token, so that they have a label and run with replaced attention.
  Model model = random_model(config, 1);
  for (LayerWeights& layer : model.layers) {
    for (Index i = 0; i < config.d_model; ++i) {
      layer.W_QKV(i, i) = layer.W_QKV(config.d_model + i, i) = 1;
    }
  }
  save_model(model, folder.file("model.h5"));
  TokenIds tokens;
  const bool is_short = GetParam().n_token > 0;
  for (Index t = 0; t < (is_short ? GetParam().n_token : config.n_ctx); ++t) {
    tokens.push_back(static_cast<TokenId>(t * 7919 % 2000));
  }
  // Of four documents score_model runs one with single heads replaced, one with many.
  const std::size_t n_document = std::string(GetParam().analysis) == "score_model" ? 4 : 2;
  test::write_token_corpus(folder.file("tokens.h5"), std::vector(n_document, tokens));
  std::ofstream pairs(folder.file("tasks.jsonl"));
  for (int i = 0; i < 240; ++i) {
    pairs
        << R"({"prefix": "The king", "good": " is happy here", "bad": " are happy here", "task": ")"
        << i % 2 << "\"}\n";
  }
  pairs.close();

  Words arguments{"run",
                  "--model",
                  folder.file("model.h5"),
                  "--corpus",
                  folder.file("tokens.h5"),
                  "--no-bos",
                  "--tokenizer",
                  HEADSCOPE_PROJECT_DIR "/data/tokenizer",
                  "--analyses",
                  GetParam().analysis,
                  "--precision",
                  GetParam().precision,
                  "--engine",
                  GetParam().engine,
                  "--threads",
                  "1",
                  "--prune-documents",
                  "1",
                  "--score-effect-documents",
                  "1",
                  "--paths-pairs",
                  "0",
                  "--paths-repeated",
                  "32",
                  "--paths-exact",
                  "24",
                  "--nulls",
                  "3",
                  "--quiet"};
  if (!is_short) arguments.insert(arguments.end(), {"--tasks", folder.file("tasks.jsonl")});
  const RunAtEstimate run = run_at_estimate(arguments, folder.file("out"));
  ASSERT_EQ(run.finished.exit_status, 0) << run.finished.err;
  EXPECT_LT(run.peak, 1.05 * run.estimate);  // the allocator's pages, as above
  // The estimate includes word classes and examples of text, which these documents lack. Ablated
  // streams have room for more columns than short documents fill.
  EXPECT_GT(run.peak, (is_short ? 0.3 : 0.5) * run.estimate);
}

/// A treebank in which every relation joins a word of some documents to the one before.
std::string treebank(std::size_t n_relation) {
  constexpr std::size_t n_document = 40, n_word = 21;
  std::string text;
  std::size_t next = 0;
  for (std::size_t document = 0; document < n_document; ++document) {
    text += "# newdoc\n1\tthe\tthe\tDET\t_\t_\t0\troot\t_\t_\n";
    for (std::size_t word = 2; word <= n_word; ++word) {
      text += std::to_string(word) + "\tcat\tcat\tNOUN\t_\t_\t" + std::to_string(word - 1) + "\tr" +
              std::to_string(next++ % n_relation) + ":x\t_\t_\n";
    }
    text += "\n";
  }
  return text;
}

Words run_of_relations(const std::string& corpus, const std::string& analyses) {
  return {"run",
          "--model",
          HEADSCOPE_PROJECT_DIR "/data/planted-model.h5",
          "--corpus",
          corpus,
          "--analyses",
          analyses,
          "--threads",
          "1",
          "--explain-documents",
          "2",
          "--quiet"};
}

TEST(Memory, OfManyRelationsIsNearItsEstimate) {
  if (!memory_can_be_measured) GTEST_SKIP() << "the address sanitizer's own memory counts";
  const TemporaryDirectory folder;
  test::write_file(folder.file("many.conllu"), treebank(250));
  const RunAtEstimate run = run_at_estimate(
      run_of_relations(folder.file("many.conllu"), "classification"), folder.file("out"));
  ASSERT_EQ(run.finished.exit_status, 0) << run.finished.err;
  EXPECT_LT(run.peak, 1.05 * run.estimate);
  EXPECT_GT(run.peak, 0.5 * run.estimate);
  Words limited = run_of_relations(folder.file("many.conllu"), "classification,correlation");
  limited.insert(limited.end(), {"--memory", "150M", "--output", folder.file("none")});
  EXPECT_THAT(run_headscope(limited).err,
              HasSubstr("); fewer analyses or fewer than 250 relations take less\n"));
}

TEST(Memory, OfManyResamplesOfManyHeadsIsNearItsEstimate) {
  if (!memory_can_be_measured) GTEST_SKIP() << "the address sanitizer's own memory counts";
  const TemporaryDirectory folder;
  save_model(random_model(config_of(4, 32, 128, 512, 64), 1), folder.file("model.h5"));
  test::write_file(folder.file("many.conllu"), treebank(30));
  Words arguments = run_of_relations(folder.file("many.conllu"), "classification");
  *(std::find(arguments.begin(), arguments.end(), "--model") + 1) = folder.file("model.h5");
  arguments.insert(arguments.end(), {"--tokenizer", HEADSCOPE_PROJECT_DIR "/data/tokenizer",
                                     "--bootstrap", "2000", "--engine", "float32"});
  const RunAtEstimate run = run_at_estimate(arguments, folder.file("out"));
  ASSERT_EQ(run.finished.exit_status, 0) << run.finished.err;
  EXPECT_LT(run.peak, 1.05 * run.estimate);
  EXPECT_GT(run.peak, 0.5 * run.estimate);
}

/// A run that stays within its estimate, which is less than that of full batches.
void expect_estimate_of_few_pairs(const std::string& analysis) {
  const TemporaryDirectory folder;
  const ModelConfig config = wide_config();
  save_model(random_model(config, 1), folder.file("model.h5"));
  std::ofstream pairs(folder.file("tasks.jsonl"));
  for (const char* const noun : {"king", "queen", "man", "woman"}) {
    pairs << R"({"prefix": "The )" << noun << R"(", "good": " is here", "bad": " are here"})"
          << "\n";
  }
  pairs.close();
  const RunAtEstimate run = run_at_estimate(
      {"run", "--model", folder.file("model.h5"), "--tasks", folder.file("tasks.jsonl"),
       "--tokenizer", HEADSCOPE_PROJECT_DIR "/data/tokenizer", "--analyses", analysis, "--engine",
       "float32", "--threads", "1", "--paths-repeated", "0", "--paths-exact", "1", "--quiet"},
      folder.file("out"));
  ASSERT_EQ(run.finished.exit_status, 0) << run.finished.err;
  EXPECT_LT(run.peak, 1.05 * run.estimate);
  const RunShape full{
      .config = config, .settings = {}, .n_token = config.n_ctx, .n_thread = 1, .n_task = 1};
  EXPECT_LT(run.estimate * 1024, static_cast<double>(analysis_named(analysis).memory(full)) + 64e6)
      << "estimated as of full batches";
}

TEST(Memory, OfFewPairsIsThatOfTheirTokens) {
  if (!memory_can_be_measured) GTEST_SKIP() << "the address sanitizer's own memory counts";
  expect_estimate_of_few_pairs("tasks");
  expect_estimate_of_few_pairs("paths");
}

TEST(Memory, OfDrawsAndResamplesCounts) {
  const TemporaryDirectory folder;
  const auto run = [&](const Words& more) {
    Words words{"run",
                "--model",
                HEADSCOPE_PROJECT_DIR "/data/planted-model.h5",
                "--corpus",
                HEADSCOPE_PROJECT_DIR "/data/stories.conllu",
                "--max-documents",
                "2",
                "--output",
                folder.file("out"),
                "--memory",
                "200M",
                "--engine",
                "float32",
                "--threads",
                "1"};
    words.insert(words.end(), more.begin(), more.end());
    return test::run_headscope_without_gnuplot(words);
  };
  const auto refused = [&](const Words& more) {
    const Finished finished = run(more);
    EXPECT_EQ(finished.exit_status, 2) << finished.err;
    return finished.err;
  };
  EXPECT_THAT(refused({"--analyses", "correlation", "--bootstrap", "200000"}),
              AllOf(HasSubstr("resamples 195 MiB"),
                    HasSubstr("); fewer than 200,000 resamples (--bootstrap) take less\n")));
  EXPECT_THAT(refused({"--analyses", "circuits", "--nulls", "20000000"}),
              HasSubstr("); fewer than 20,000,000 draws (--nulls) take less\n"));
  EXPECT_THAT(refused({"--analyses", "parameters", "--nulls", "100000000"}),
              HasSubstr("parameters 7"));
  EXPECT_EQ(run({"--analyses", "attention", "--bootstrap", "200000"}).exit_status, 0) << "unused";
}

TEST(Memory, OfMoreRelationsThanSumsAreKeptOfIsRefused) {
  const TemporaryDirectory folder;
  const std::string corpus = folder.file("many.conllu");
  test::write_file(corpus, treebank(300));
  const auto run = [&](const std::string& analyses) {
    Words words = run_of_relations(corpus, analyses);
    words.insert(words.end(), {"--output", folder.file("out")});
    return test::run_headscope_without_gnuplot(words);
  };
  const Finished refused = run("classification,correlation,score_model");
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_EQ(refused.err,
            "headscope: " + corpus +
                ":DEPREL: expected at most 256 relations for classification and "
                "score_model, got 300; Universal Dependencies has 37 (what "
                "follows a colon does not count); --analyses chooses analyses without relations\n");
  EXPECT_FALSE(fs::exists(folder.file("out")));
  EXPECT_EQ(run("correlation").exit_status, 0);
}

const auto name_of_run = [](const auto& test) {
  return std::string(test.param.analysis) + "_" + test.param.shape;
};

// In the long shape, one document takes most of the memory; with many heads, their 50,000 edges do.
INSTANTIATE_TEST_SUITE_P(
    Every, MemoryOf,
    testing::Values(MeasuredRun{"parameters", "wide", wide_config()},
                    MeasuredRun{"circuits", "wide", wide_config()},
                    MeasuredRun{"correlation", "wide", wide_config()},
                    MeasuredRun{"pruning", "wide", wide_config()},
                    MeasuredRun{"pruning", "wide_high", wide_config(), "high", "int16"},
                    MeasuredRun{"classification", "wide", wide_config()},
                    MeasuredRun{"score_model", "wide", config_of(2, 4, 512, 2048, 256)},
                    MeasuredRun{"correlation", "short", long_config(), "float32", "float32", 24},
                    MeasuredRun{"pruning", "short", long_config(), "float32", "float32", 24},
                    MeasuredRun{"classification", "short", long_config(), "float32", "float32", 24},
                    MeasuredRun{"score_model", "short", long_config(), "float32", "float32", 24},
                    MeasuredRun{"attention", "short", long_config(), "float32", "float32", 24},
                    MeasuredRun{"tasks", "wide", wide_config()},
                    MeasuredRun{"paths", "wide", config_of(2, 4, 512, 2048, 256)},
                    MeasuredRun{"attention", "wide", wide_config()},
                    MeasuredRun{"attention", "long", config_of(1, 1, 512, 64, 2048)}),
    name_of_run);
INSTANTIATE_TEST_SUITE_P(Thorough, MemoryOf,
                         testing::Values(MeasuredRun{"paths", "many_heads",
                                                     config_of(12, 16, 128, 512, 128)}),
                         name_of_run);

TEST(Memory, OfGpt2IsThatOfItsWeightsAtLeast) {
  ModelConfig config = config_of(12, 12, 768, 3072, 1024);
  config.d_vocab = 50257;
  EXPECT_EQ(model_bytes(config), 124'439'808 * sizeof(float));
}

TEST(Memory, TooLittleIsRefusedWithTheNumbersBeforeAnythingIsRun) {
  const TemporaryDirectory folder;
  const std::string output = folder.file("out");
  const Finished weights = run_headscope({"run", "--memory", "20M", "--output", output});
  EXPECT_EQ(weights.exit_status, 2);
  EXPECT_THAT(weights.err, HasSubstr("--memory: expected at least"));
  EXPECT_THAT(weights.err, HasSubstr("got 20 MiB (program"));
  EXPECT_THAT(weights.err, Not(HasSubstr("classification"))) << "before the weights are read";
  const Finished analyses = run_headscope({"run", "--memory", "120M", "--output", output});
  EXPECT_EQ(analyses.exit_status, 2);
  EXPECT_THAT(analyses.err, HasSubstr("got 120 MiB (program"));
  EXPECT_THAT(analyses.err, HasSubstr("classification "));
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST(Memory, MoreThanTheMachineHasIsWarnedOf) {
  const std::vector<MemoryPart> parts{{"program", std::uint64_t{1} << 30},
                                      {"tasks", std::uint64_t{3} << 30}};
  EXPECT_EQ(memory_warning(parts, std::uint64_t{4} << 30, ""), "");
  EXPECT_EQ(
      memory_warning(parts, std::uint64_t{2} << 30, "; fewer tasks take less"),
      "this run may need 4.00 GiB of memory, but can have at most 2.00 GiB (program 1.00 GiB, "
      "tasks 3.00 GiB); fewer tasks take less");
  EXPECT_GT(available_memory(), std::uint64_t{1} << 28);
}

TEST(Memory, OfAttentionWeightsAloneIsNotThatOfACompleteModel) {
  ModelDescription model;
  model.config = wide_config();
  EXPECT_EQ(weight_bytes(model), model_bytes(model.config));
  model.missing = {"wte.weight"};
  model.n_stored = 1000;
  EXPECT_EQ(weight_bytes(model), 4000U);
}

TEST(Memory, AnalysesOfWeightsComeOneAfterTheOther) {
  const RunShape run{wide_config(), {}, 512, 2, 1};
  const auto need = [&](const std::vector<const RegisteredAnalysis*>& analyses) {
    return total_bytes(run_memory(run, model_bytes(run.config), analyses, false));
  };
  const auto &parameters = analysis_named("parameters"), &circuits = analysis_named("circuits");
  ASSERT_NE(need({&parameters}), need({&circuits}));
  EXPECT_EQ(need({&parameters, &circuits}), std::max(need({&parameters}), need({&circuits})));
  EXPECT_EQ(need({&circuits, &parameters}), std::max(need({&parameters}), need({&circuits})));
}

TEST(Memory, TheControlCounts) {
  RunShape run{wide_config(), {}, 512, 2, 1};
  const auto& classification = analysis_named("classification");
  const auto& correlation = analysis_named("correlation");
  const std::uint64_t alone =
      total_bytes(run_memory(run, model_bytes(run.config), {&classification, &correlation}, false));
  const std::uint64_t with_control =
      total_bytes(run_memory(run, model_bytes(run.config), {&classification, &correlation}, true));
  EXPECT_EQ(with_control - alone,
            model_bytes(run.config) + classification.memory(run) + correlation.memory(run));
}

TEST(Inspect, ListsOfAttentionWeightsAloneOnlyWhatCanRun) {
  const Finished finished =
      run_headscope({"inspect", HEADSCOPE_TEST_DATA "/tiny_flat/attention_only.h5"});
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("    circuits  "));
  EXPECT_THAT(finished.out, Not(HasSubstr("    correlation  ")));
}

TEST(Inspect, CountsDocumentsAndTokensOfTokenIds) {
  const TemporaryDirectory folder;
  test::write_token_corpus(folder.file("ids.h5"), {{1, 2, 3}, {4, 5}});
  const Finished finished = run_headscope({"inspect", folder.file("ids.h5")});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.out, testing::ContainsRegex("  documents +2\n  tokens +5\n"
                                                   "  longest document +3 tokens\n"));
}

TEST(Inspect, ShowsTheFindingsOfAResultsFolderAndItsArraysWhenAsked) {
  const TemporaryDirectory folder;
  const std::string out = folder.file("out");
  fs::create_directories(out);
  write_results(test::results_sample(), out + "/results.h5");
  const Finished finished = run_headscope({"inspect", out});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.out, StartsWith(out + "/results.h5: results, "));
  EXPECT_THAT(finished.out, HasSubstr("\n  Claims. Of 2 claims about heads"));
  EXPECT_THAT(finished.out,
              HasSubstr("\n  Warning. These results lack what this version says of "
                        "classification: results\n  classification: expected a variable"));
  EXPECT_THAT(finished.out, HasSubstr("pruning, control/pruning, classification"));
  EXPECT_THAT(finished.out, Not(HasSubstr("loss_increase")));
  EXPECT_THAT(run_headscope({"inspect", "--arrays", out}).out,
              HasSubstr("    pruning/loss_increase [2, 2, 3] float64\n"));
}

TEST(Inspect, SaysFromAConfigAloneWhatARunOfItNeeds) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("config.json");
  std::ofstream(path) << R"({"model_type": "gpt2", "n_layer": 48, "n_head": 25, "n_embd": 1600,
                             "n_positions": 1024, "vocab_size": 50257})";
  const Finished finished = run_headscope({"inspect", path});
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("1557611200"));
  EXPECT_THAT(finished.out, HasSubstr("documents of 1024 tokens"));
  EXPECT_THAT(finished.out, HasSubstr("    correlation           "));

  std::ofstream(path) << R"({"n_layer": 48, "n_embd": 1600})";
  const Finished lacking = run_headscope({"inspect", path});
  EXPECT_EQ(lacking.exit_status, 1);
  EXPECT_THAT(lacking.err, HasSubstr(path + ":n_head: expected a whole number, got none"));
}

}  // namespace
}  // namespace headscope
