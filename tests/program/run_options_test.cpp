#include "run_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "commands.hpp"
#include "correlation/correlation.hpp"
#include "option_parser.hpp"
#include "registry.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;
using testing::IsSubsetOf;
using testing::ThrowsMessage;

std::set<std::string> names_in(const OptionTable& table, OptionScope scope) {
  std::set<std::string> names;
  for (const Option& option : table.options()) {
    if (option.scope == scope) names.insert(option.name);
  }
  return names;
}

TEST(RunOptions, RestoredFromTheirRecordAreTheSameButThoseOfOneProcess) {
  RunOptions run;
  ASSERT_TRUE(parse_options(
      "run",
      {"--model",      "m.h5",    "--corpus",  "a.txt",    "b.txt",      "--no-cosine-all",
       "--js-queries", "9",       "--control", "random",   "--analyses", "correlation,pruning",
       "--figures",    "pdf",     "--threads", "2",        "--output",   "out",
       "--resume",     "--shard", "2/3",       "--memory", "8G"},
      run.table));
  EXPECT_EQ(run.files.n_shard, 3);
  EXPECT_EQ(run.memory, std::uint64_t{8} << 30);

  RunOptions restored;
  restored.restore(run.as_json(), "pass.h5");
  EXPECT_EQ(restored.model, "m.h5");
  EXPECT_THAT(restored.corpus, ElementsAre("a.txt", "b.txt"));
  EXPECT_FALSE(restored.settings.options<CorrelationOptions>().cosine_all);
  EXPECT_EQ(restored.settings.options<CorrelationOptions>().js_queries, 9U);
  EXPECT_TRUE(restored.random_control());
  EXPECT_THAT(restored.analyses, ElementsAre("correlation", "pruning"));
  EXPECT_THAT(restored.output.figures, ElementsAre("pdf"));
  EXPECT_EQ(restored.threads, 2U);
  EXPECT_FALSE(restored.files.resume);
  EXPECT_EQ(restored.files.n_shard, 1);
  EXPECT_EQ(restored.memory, 0U);
  auto expected = nlohmann::json::parse(run.as_json());
  expected.erase("shard");
  expected.erase("memory");
  expected["resume"] = false;
  EXPECT_EQ(nlohmann::json::parse(restored.as_json()), expected);
}

TEST(RunOptions, OfADamagedRecordAreRefusedByTheNameOfItsFile) {
  for (const char* record :
       {"", "{", "[1, 2]", "{\"model\": 3}", "{\"model\": {\"bytes\": \"x\"}}"}) {
    SCOPED_TRACE(record);
    RunOptions options;
    EXPECT_THAT([&] { options.restore(record, "pass.h5"); },
                ThrowsMessage<DataError>("pass.h5: expected the options of a run, got other text"));
  }
  RunOptions options;
  EXPECT_THAT([&] { options.restore("{\"engines\": \"{}\"}", "pass.h5"); },
              ThrowsMessage<DataError>("pass.h5: expected the engines of a run, got other text"));
}

TEST(RunOptions, EveryOptionOfAnAnalysisDecidesNumbers) {
  RunOptions run;
  OptionTable own;
  AnalysisSettings settings;
  settings.declare(own, analysis_registry());
  EXPECT_EQ(names_in(own, OptionScope::numbers).size(), own.options().size());
  EXPECT_THAT(names_in(own, OptionScope::numbers),
              IsSubsetOf(names_in(run.table, OptionScope::numbers)));
  EXPECT_EQ(names_in(run.table, OptionScope::numbers).size(), own.options().size() + 11)
      << "n-head, encoding, bos, no-bos, literal-special-tokens, context, document-sentences, "
         "max-documents, task-pairs, control and "
         "control-documents";
}

TEST(RunOptions, OfAnAnalysisAreIdleInResultsWithoutIt) {
  Results results;
  results.groups.emplace_back().name = "pruning";
  const std::set<std::string> idle = idle_options(results);
  EXPECT_TRUE(idle.contains("paths-exact"));
  for (const char* const option : {"seed", "control", "resample-donors"}) {
    EXPECT_FALSE(idle.contains(option)) << option;
  }
  EXPECT_TRUE(idle.contains("control-documents"));
  results.attributes["n_control"] = std::int64_t{5};
  EXPECT_FALSE(idle_options(results).contains("control-documents"));
}

TEST(RunOptions, EveryCommandNamesAnOptionOnceAndSaysWhatItMeans) {
  for (const RegisteredCommand& registered : commands()) {
    const auto command = registered.make();
    std::set<std::string> names;
    for (const Option& option : command->options().options()) {
      EXPECT_TRUE(names.insert(option.name).second) << registered.name << " " << option.name;
      EXPECT_EQ(option.help.empty(), option.positional) << registered.name << " " << option.name;
      EXPECT_EQ(option.help.find("default"), std::string::npos)
          << option.name << ": the table states defaults";
    }
  }
}

TEST(RunOptions, AnAnalysisWithoutItsOwnSettingsHasTheirDefaults) {
  const AnalysisSettings settings;
  EXPECT_EQ(settings.options<CorrelationOptions>().js_queries, CorrelationOptions().js_queries);
  AnalysisSettings changed;
  changed.options<CorrelationOptions>().js_queries = 7;
  const AnalysisSettings copy = changed;
  changed.options<CorrelationOptions>().js_queries = 8;
  EXPECT_EQ(copy.options<CorrelationOptions>().js_queries, 7U);
}

}  // namespace
}  // namespace headscope
