#include "program_test.hpp"
#include "support/golden.hpp"
#include "support/token_corpus.hpp"

namespace headscope {
namespace {

const std::string project_dir = HEADSCOPE_PROJECT_DIR;

/// A random model of each kind with the words of the default model, run from the command line.
class RunOfArchitecture : public testing::TestWithParam<test::NamedConfig> {};

TEST_P(RunOfArchitecture, HasEveryAnalysis) {
  const TemporaryDirectory folder;
  ModelConfig config = GetParam().config;
  config.d_vocab = 2560;
  save_model(test::random_weights(config, 5), folder.file("model.h5"));
  const std::string out = folder.file("out");
  const Finished finished = run_headscope({"run",
                                           "--model",
                                           folder.file("model.h5"),
                                           "--tokenizer",
                                           project_dir + "/data/tokenizer",
                                           "--corpus",
                                           project_dir + "/data/stories.conllu",
                                           "--max-documents",
                                           "4",
                                           "--tasks",
                                           project_dir + "/data/tasks.jsonl",
                                           "--task-pairs",
                                           "2",
                                           "--paths-exact",
                                           "3",
                                           "--paths-repeated",
                                           "2",
                                           "--score-queries",
                                           "40",
                                           "--nulls",
                                           "3",
                                           "--figures",
                                           "svg",
                                           "--output",
                                           out});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err, Not(HasSubstr("leaves out")));
  const Results results = read_results(out + "/results.h5");
  for (const char* const name : {"parameters", "circuits", "correlation", "classification",
                                 "score_model", "pruning", "tasks", "paths", "attention"}) {
    EXPECT_TRUE(results.has(name)) << name;
  }
  const ResultsGroup& pruning = results.group("pruning");
  const auto sum = [&](const char* name) {
    return arma::accu(arma::vec(pruning.values(name).values));
  };
  // Four documents' float32 logits of about 10.
  EXPECT_NEAR(sum("direct_effect") + sum("direct_effect_mlp") + sum("direct_effect_embedding") +
                  sum("direct_effect_bias"),
              sum("direct_effect_total"), 1e-4);
}

/// Those that differ most from GPT-2: rotary positions and parallel residuals, grouped keys and
/// values with d_z other than d_model, and biases of queries, keys and values alone.
std::vector<test::NamedConfig> unlike_gpt2() {
  std::vector<test::NamedConfig> configs;
  for (const test::NamedConfig& each : test::every_architecture()) {
    if (each.name == "gpt_neox" || each.name == "llama_wide" || each.name == "qwen2") {
      configs.push_back(each);
    }
  }
  return configs;
}

INSTANTIATE_TEST_SUITE_P(Models, RunOfArchitecture, testing::ValuesIn(unlike_gpt2()),
                         test::name_of_config);

/// Of 30 random tokens below 53.
void write_six_documents(const std::string& path) {
  std::vector<TokenIds> documents;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    documents.push_back(test::Normal(seed).tokens(30, 53));
  }
  test::write_token_corpus(path, documents);
}

TEST(RunWithoutTokenizer, NamesTokensByTheirIdsAndSaysWhatIsLeftOut) {
  const TemporaryDirectory folder;
  write_six_documents(folder.file("tokens.h5"));
  const Finished finished =
      run_headscope({"run", "--model", test::data_path("architectures/pythia"), "--no-bos",
                     "--corpus", folder.file("tokens.h5"), "--analyses", "classification,attention",
                     "--figures", "svg", "--output", folder.file("out")});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  const Results results = read_results(folder.file("out/results.h5"));
  EXPECT_EQ(results.group("attention/0").find("token_text"), nullptr);
  EXPECT_THAT(test::read_file(folder.file("out/report.html")),
              HasSubstr("Tokens are named by their ids: there was no tokenizer."));
}

TEST(RunOfShortPieces, LeavesInductionOfRotaryModelsAsItIs) {
  const TemporaryDirectory folder;
  write_six_documents(folder.file("tokens.h5"));
  const auto results_with = [&](const std::string& context) {
    const Finished finished = test::run_headscope_without_gnuplot(
        {"run", "--model", test::data_path("architectures/llama"), "--no-bos", "--corpus",
         folder.file("tokens.h5"), "--analyses", "classification", "--context", context, "--output",
         folder.file(context)});
    EXPECT_EQ(finished.exit_status, 0) << finished.err;
    return read_results(folder.file(context + "/results.h5"));
  };
  const Results whole = results_with("30"), cut = results_with("8");
  EXPECT_EQ(cut.group("classification").values("induction").values,
            whole.group("classification").values("induction").values);
  EXPECT_EQ(cut.integer("n_ctx"), 8);
}

TEST(RunWithoutTasks, LeavesOutWhatNeedsThem) {
  const TemporaryDirectory folder;
  test::write_token_corpus(folder.file("tokens.h5"), {test::Normal(1).tokens(30, 53)});
  const Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--model", test::data_path("architectures/llama"), "--no-bos", "--corpus",
       folder.file("tokens.h5"), "--nulls", "3", "--output", folder.file("out")});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("leaves out tasks, paths: there is no --tasks\n"));
}

}  // namespace
}  // namespace headscope
