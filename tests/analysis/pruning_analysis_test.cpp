#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "files/hdf5_file.hpp"
#include "headscope/figure.hpp"
#include "headscope/random.hpp"
#include "headscope/results.hpp"
#include "headscope/statistics.hpp"
#include "pruning/orders.hpp"
#include "pruning/pruning.hpp"
#include "pruning/results.hpp"
#include "support/passes.hpp"
#include "support/random_weights.hpp"
#include "support/small_tokenizer.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"
#include "support/token_corpus.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using test::TemporaryDirectory;
using testing::ElementsAre;

TEST(PruningOrders, AscendInScoreWithTiesInOrderAndNanLast) {
  const Array scores({2, 3}, {0.5, -1, 0.5, std::nan(""), 0, 2});
  EXPECT_THAT(ascending_heads(scores), ElementsAre(1, 4, 0, 2, 5, 3));
}

TEST(PruningOrders, MaskLeavesOutTheFirstUnitsOfAnOrder) {
  const HeadMask mask = mask_without({3, 0, 1, 2}, 2, 2, 2);
  EXPECT_EQ(mask(0, 0), 0);
  EXPECT_EQ(mask(1, 0), 1);
  EXPECT_EQ(mask(0, 1), 1);
  EXPECT_EQ(mask(1, 1), 0);
}

TEST(PruningOrders, NormalizedImportanceHasUnitLengthInEachLayer) {
  const Array normalized = normalized_by_layer(Array({2, 2}, {3, -4, 0, 0}));
  EXPECT_DOUBLE_EQ(normalized(0, 0), 0.6);
  EXPECT_DOUBLE_EQ(normalized(0, 1), -0.8);
  EXPECT_EQ(normalized(1, 0), 0);
}

TEST(PruningCost, IsThatOfTheDocumentsUsed) {
  const TemporaryDirectory folder;
  const TokenIds tokens{1, 2, 3, 4};
  test::write_token_corpus(folder.file("corpus.h5"), {tokens, tokens, tokens});
  ModelConfig config = test::config_of(
      {.n_layer = 2, .n_head = 2, .d_model = 8, .d_mlp = 16, .n_ctx = 4, .d_vocab = 5});
  const Model model = random_model(config, 1);
  CorpusOptions corpus_options;
  corpus_options.prepend_bos = false;
  const Corpus corpus({folder.file("corpus.h5")}, nullptr, corpus_options);
  AnalysisSettings settings;
  settings.options<PruningOptions>().n_document = 2;
  const RegisteredAnalysis pruning = pruning_analysis();
  test::Passes run(pruning, {model, &corpus, settings});
  const auto cost = [&](int pass, std::uint64_t document) {
    return run.model().cost(run.pass(pass), document);
  };
  const auto n_token = static_cast<double>(tokens.size());
  const auto cost_of_pass = [&](int pass) { return cost(pass, 0) + cost(pass, 1) + cost(pass, 2); };
  EXPECT_EQ(cost_of_pass(0), 2 * n_token) << "one forward pass of each document used";
  EXPECT_GT(cost_of_pass(2), cost_of_pass(0)) << "estimated before its masks are known";
  run.begin(0);
  for (std::uint64_t i = 0; i < corpus.n_document(); ++i) run.observe(corpus.piece(i));
  run.begin(1);
  // Two of the three documents are used: four heads, six ablations each, from the middle of the
  // model on average.
  std::vector<double> costs{cost(1, 0), cost(1, 1), cost(1, 2)};
  std::ranges::sort(costs);
  EXPECT_EQ(costs[0], 0);
  EXPECT_GE(costs[1], n_token * (1 + 4 * 6 / 2));
  EXPECT_EQ(costs[1], costs[2]);
  EXPECT_EQ(run.model().phase(run.pass(1)), "ablating heads");
}

TEST(PruningDocuments, CountThoughTheirFirstPieceHasNothingToPredict) {
  const TemporaryDirectory folder;
  std::string text;
  for (int d = 0; d < 5; ++d) text += "! A dog saw a cat.\n\n";
  test::write_file(folder.file("corpus.txt"), text);
  const Tokenizer& tokenizer = test::small_tokenizer();
  const Corpus corpus({folder.file("corpus.txt")}, &tokenizer,
                      {.prepend_bos = false, .max_tokens = 4});
  ASSERT_EQ(corpus.n_document(), 5u);
  ASSERT_EQ(corpus.piece(0).tokens.size(), 1u);
  const Model model = random_model(test::config_of({.n_layer = 1,
                                                    .n_head = 2,
                                                    .d_model = 8,
                                                    .d_mlp = 16,
                                                    .n_ctx = 4,
                                                    .d_vocab = tokenizer.size()}),
                                   1);
  AnalysisSettings settings;
  settings.options<PruningOptions>() = {.n_document = 4, .n_ablate = 2};
  const RegisteredAnalysis pruning = pruning_analysis();
  const ResultsGroup group =
      test::Passes(pruning, {model, &corpus, settings}).results_of_all().front();
  EXPECT_EQ(group.scalar("n_document"), 5);
  EXPECT_EQ(group.scalar("n_document_first_order"), 4);
  EXPECT_EQ(group.scalar("n_document_ablated"), 2);
}

/// A model of four tokens' context and the results of pruning on documents of these tokens.
ResultsGroup results_on(const std::vector<TokenIds>& documents, const PruningOptions& options) {
  const TemporaryDirectory folder;
  test::write_token_corpus(folder.file("corpus.h5"), documents);
  const Corpus corpus({folder.file("corpus.h5")}, nullptr, {.prepend_bos = false, .max_tokens = 4});
  const Model model = random_model(
      test::config_of(
          {.n_layer = 1, .n_head = 2, .d_model = 8, .d_mlp = 16, .n_ctx = 4, .d_vocab = 7}),
      1);
  AnalysisSettings settings;
  settings.options<PruningOptions>() = options;
  const RegisteredAnalysis pruning = pruning_analysis();
  return test::Passes(pruning, {model, &corpus, settings}).results_of_all().front();
}

TEST(PruningDocuments, OfASingleTokenCountNowhere) {
  std::vector<TokenIds> documents(12);
  for (std::size_t d = 0; d < documents.size(); ++d) {
    for (std::uint64_t t = 0; t < 7; ++t) {
      documents[d].push_back(static_cast<TokenId>(CounterRandom(9, d).below(7, t)));
    }
  }
  // Of documents 4 and 5 one is ablated.
  for (const std::size_t d : {4, 5, 9}) documents[d] = {3};
  const ResultsGroup all = results_on(documents, {.n_document = 0, .n_ablate = 0}),
                     few = results_on(documents, {.n_document = 0, .n_ablate = 6});
  EXPECT_EQ(all.scalar("n_document_ablated"), 9);
  EXPECT_EQ(all.scalar("n_document_first_order"), 9);
  EXPECT_LE(few.scalar("n_document_ablated"), 5);
  EXPECT_EQ(few.scalar("n_document_first_order"), 9);
}

TEST(PruningDonors, OfAPositionComeFromDifferentDocuments) {
  const TokenIds cut{1, 2, 3, 4, 5, 6, 1, 2};  // two pieces of one length
  const ResultsGroup two = results_on({cut, cut}, {.n_document = 0, .n_donor = 2}),
                     three = results_on({cut, cut, cut}, {.n_document = 0, .n_donor = 2});
  EXPECT_TRUE(std::isnan(two.scalar("donor_error_sum"))) << "one other document";
  EXPECT_FALSE(std::isnan(three.scalar("donor_error_sum")));
}

/// Sums over heads of the loss increases by resampled z: their standard deviation between seeds,
/// and the one that runs state, as a root mean square.
struct DonorSpread {
  double found = 0, stated = 0;
};
DonorSpread donor_spread(const Model& model, const Corpus& corpus, std::uint64_t n_donor) {
  constexpr std::uint64_t n_seed = 24;
  std::vector<double> sums, errors;
  for (std::uint64_t seed = 0; seed < n_seed; ++seed) {
    AnalysisSettings settings;
    settings.seed = seed;
    settings.options<PruningOptions>().n_document = 0;
    settings.options<PruningOptions>().n_donor = n_donor;
    const RegisteredAnalysis pruning = pruning_analysis();
    test::Passes run(pruning, {model, &corpus, settings});
    for (const int pass : {0, 1, 2}) {
      run.begin(pass);
      for (std::uint64_t d = 0; d < corpus.n_document(); ++d) run.observe(corpus.piece(d));
    }
    const ResultsGroup group =
        pruning_results(run.model().statistics().at("pruning"), model.config, settings);
    const Array& increases = group.values("loss_increase").part(resample_place);
    sums.push_back(std::accumulate(increases.values.begin(), increases.values.end(), 0.0));
    errors.push_back(group.scalar("donor_error_sum"));
  }
  return {arma::stddev(arma::vec(sums)), arma::norm(arma::vec(errors)) / std::sqrt(n_seed)};
}

TEST(PruningDonors, AveragedLowerTheSpreadBetweenSeedsWhichIsStated) {
  const TemporaryDirectory folder;
  std::vector<TokenIds> documents;
  for (std::uint64_t d = 0; d < 16; ++d) {
    documents.emplace_back();
    for (std::uint64_t t = 0; t < 5 + d % 3; ++t) {
      documents.back().push_back(static_cast<TokenId>(CounterRandom(3, d).below(7, t)));
    }
  }
  test::write_token_corpus(folder.file("corpus.h5"), documents);
  const Model model = random_model(
      test::config_of(
          {.n_layer = 2, .n_head = 2, .d_model = 8, .d_mlp = 16, .n_ctx = 8, .d_vocab = 7}),
      1);
  CorpusOptions options;
  options.prepend_bos = false;
  const Corpus corpus({folder.file("corpus.h5")}, nullptr, options);
  const DonorSpread one = donor_spread(model, corpus, 1), six = donor_spread(model, corpus, 6);
  EXPECT_TRUE(std::isnan(one.stated));
  // Standard deviations of 24 numbers err by 15 %.
  EXPECT_NEAR(six.found, one.found / std::sqrt(6), 0.5 * one.found / std::sqrt(6));
  EXPECT_NEAR(six.stated, six.found, 0.4 * six.found);
}

/// Runs the command line on the tiny model and documents of the PyTorch goldens.
class PruningAnalysis : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new TemporaryDirectory;
    std::vector<TokenIds> documents;
    // As many as an interval takes; means over documents are those of the four.
    for (std::size_t d = 0; d < least_documents; ++d) {
      documents.push_back(test::golden_tokens(golden_path(), d % 4));
    }
    test::write_token_corpus(directory_->file("corpus.h5"), documents);
    results_ = new Results(run("out", {}));
  }
  static void TearDownTestSuite() {
    delete results_;
    delete directory_;
  }

  static std::string golden_path() {
    return std::string(HEADSCOPE_TEST_DATA) + "/gradient_golden.h5";
  }

  static Results run(const std::string& output, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "run",
        "--model",
        std::string(HEADSCOPE_TEST_DATA) + "/tiny_safetensors/model.safetensors",
        "--corpus",
        directory_->file("corpus.h5"),
        "--no-bos",
        "--analyses",
        "pruning",
        "--output",
        directory_->file(output)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const test::Finished finished = test::run_headscope_without_gnuplot(arguments);
    EXPECT_EQ(finished.exit_status, 0) << finished.err;
    return read_results(directory_->file(output) + "/results.h5");
  }

  const ResultsGroup& group() const { return results_->group("pruning"); }

  static TemporaryDirectory* directory_;
  static Results* results_;
  const hdf5::InputFile golden_{golden_path()};
};
TemporaryDirectory* PruningAnalysis::directory_ = nullptr;
Results* PruningAnalysis::results_ = nullptr;

TEST_F(PruningAnalysis, LossesEqualPyTorchsMaskedForwards) {
  const double baseline = golden_.read_reals("loss_baseline").values[0];
  EXPECT_NEAR(group().variable("loss_baseline").values.values[0], baseline,
              test::float32_tolerance * baseline);
  const Array zero = golden_.read_reals("loss_zero"),
              others = golden_.read_reals("loss_all_but_one");
  for (std::size_t head_index = 0; head_index < zero.size(); ++head_index) {
    EXPECT_NEAR(group().variable("loss_increase").values.values[head_index] + baseline,
                zero.values[head_index], test::float32_tolerance * zero.values[head_index]);
    EXPECT_NEAR(group().variable("loss_all_but_one").values.values[head_index],
                others.values[head_index], test::float32_tolerance * others.values[head_index]);
  }
}

TEST_F(PruningAnalysis, ImportanceEqualsPyTorchsAutograd) {
  const char* const variants[] = {"per_token", "per_example", "signed"};
  const Array& importance = group().variable("importance").values;
  for (std::size_t variant = 0; variant < 3; ++variant) {
    const Array expected = golden_.read_reals(std::string("importance/") + variants[variant]);
    const double scale =
        std::abs(*std::max_element(expected.values.begin(), expected.values.end()));
    for (std::size_t head_index = 0; head_index < expected.size(); ++head_index) {
      EXPECT_NEAR(importance.values[variant * expected.size() + head_index],
                  expected.values[head_index], test::float32_tolerance * scale)
          << variants[variant] << " unit " << head_index;
    }
  }
}

TEST_F(PruningAnalysis, FirstOrderCorrelationIsSpearmansOfSignedImportanceAndZeroAblation) {
  const Array sign = golden_.read_reals("importance/signed"),
              zero = golden_.read_reals("loss_zero");
  EXPECT_NEAR(group().variable("first_order_correlation").values.values[0],
              spearman(sign.values, zero.values), test::double_rounding);
}

TEST_F(PruningAnalysis, ImportanceCorrelationIsSpearmansOfEachVariantAndZeroAblation) {
  const Array zero = golden_.read_reals("loss_zero"),
              &correlation = group().variable("importance_correlation").values;
  const char* const variants[] = {"importance/per_token", "importance/per_example",
                                  "importance/signed"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(correlation(i), spearman(golden_.read_reals(variants[i]).values, zero.values),
                test::double_rounding);
  }
}

TEST_F(PruningAnalysis, CurvesStartWithTheWholeModelAndAllEndWithNoHead) {
  const Array& curve = group().variable("curve").values;
  for (std::size_t order = 0; order < 3; ++order) {
    EXPECT_DOUBLE_EQ(curve(order, 0), curve(0, 0));
    EXPECT_DOUBLE_EQ(curve(order, 10), curve(0, 10));
  }
  // Five equal losses; rounding their mean may change the last place.
  EXPECT_NEAR(group().variable("curve_random_std").values.values[0], 0, test::double_rounding);
}

TEST_F(PruningAnalysis, TheFigureOfTheCurveEnlargesItsFirstFifth) {
  const std::vector<Figure> figures = pruning_figures(*results_);
  const auto found = std::ranges::find(figures, "michel2019_curve", &Figure::name);
  ASSERT_NE(found, figures.end());
  const auto& chart = std::get<Chart>(found->content);
  EXPECT_TRUE(chart.separate_ranges);
  ASSERT_EQ(chart.panels.size(), 2u);
  const double baseline = group().variable("curve").values(0, 0);
  std::size_t n_low = 0;
  for (const Series& series : chart.panels[1].series) {
    n_low += series.low.size();
    EXPECT_THAT(series.x, ElementsAre(0, 0, 1. / 6, 1. / 6)) << "steps 0 to 0.3 of six heads";
    for (std::size_t step = 0; step < series.low.size(); ++step) {
      EXPECT_GE(series.low[step], std::min(baseline, series.y[step]));
    }
  }
  EXPECT_GE(n_low, 1u);
  EXPECT_EQ(chart.panels[0].series[0].label, "random") << "drawn first";
  EXPECT_EQ(chart.panels[0].series[0].x.size(), 11u);
}

TEST_F(PruningAnalysis, RemovedHeadsAreEmptyInMaps) {
  Results removed = *results_;
  removed.attributes["pruned_heads"] = "L0H1";
  const std::vector<Figure> figures = pruning_figures(removed);
  for (const std::size_t figure : {0U, 1U}) {
    for (const HeatmapPanel& panel : std::get<Heatmap>(figures[figure].content).panels) {
      EXPECT_TRUE(std::isnan(panel.values(0, 1))) << figures[figure].name << panel.title;
      EXPECT_FALSE(std::isnan(panel.values(0, 0))) << figures[figure].name << panel.title;
      if (figure == 0) {
        EXPECT_EQ(panel.marked(0, 1), 0) << panel.title;
      }
    }
  }
}

TEST_F(PruningAnalysis, TheMapOfLayersThatKeepOneHeadDrawsNoRounding) {
  Results results = *results_;
  ResultsGroup& group = results.groups.front();
  const double baseline = group.scalar("loss_baseline");
  Array& loss = std::ranges::find(group.variables, "loss_all_but_one", &Variable::name)->values;
  loss.values[0] = baseline * (1 + 1e-8);
  loss.values[1] = baseline * (1 + 1e-6);
  const std::vector<Figure> figures = pruning_figures(results);
  const Array& drawn = std::get<Heatmap>(figures[1].content).panels[0].values;
  EXPECT_EQ(drawn.values[0], 0);
  EXPECT_NEAR(drawn.values[1], 1e-6 * baseline, 1e-12);
}

TEST_F(PruningAnalysis, TheMapOfAblationsHasAPanelForEachThatWasMeasured) {
  const auto titles = [](const Results& results) {
    std::vector<std::string> found;
    const Figure figure = pruning_figures(results).front();
    for (const HeatmapPanel& panel : std::get<Heatmap>(figure.content).panels) {
      found.push_back(panel.title);
    }
    return found;
  };
  EXPECT_THAT(titles(*results_), ElementsAre("zero", "mean", "resample"));
  Results without = *results_;
  const auto pruning = std::ranges::find(without.groups, "pruning", &ResultsGroup::name);
  auto& variables = pruning->variables;
  const auto increase = std::ranges::find(variables, "loss_increase", &Variable::name);
  ASSERT_NE(increase, variables.end());
  const std::size_t n = increase->values.size();
  for (std::size_t i = 2 * n / 3; i < n; ++i) increase->values.values[i] = std::nan("");
  EXPECT_THAT(titles(without), ElementsAre("zero", "mean"));
}

TEST_F(PruningAnalysis, IntervalsHoldTheEstimate) {
  const Variable& increase = group().variable("loss_increase");
  for (std::size_t i = 0; i < increase.values.size(); ++i) {
    const Estimate estimate = increase.estimate(i);
    EXPECT_LE(estimate.low, estimate.value);
    EXPECT_GE(estimate.high, estimate.value);
    EXPECT_LT(estimate.low, estimate.high);
  }
}

TEST_F(PruningAnalysis, TheSameSeedGivesTheSameNumbersOnAnyNumberOfThreads) {
  const Results again = run("again", {"--threads", "1"});
  for (const Variable& variable : group().variables) {
    if (variable.type != Variable::Type::real) continue;
    const std::vector<double>& values =
        again.group("pruning").variable(variable.name).values.values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      // sgemm splits its sums by the number of threads.
      EXPECT_NEAR(values[i], variable.values.values[i], test::rounding_tolerance) << variable.name;
    }
  }
}

TEST_F(PruningAnalysis, DocumentBoundIsKept) {
  const Results bounded = run("bounded", {"--prune-documents", "1"});
  const ResultsGroup& pruning = bounded.group("pruning");
  EXPECT_EQ(pruning.variable("n_document_ablated").values.values[0], 1);
  const double baseline = pruning.variable("loss_baseline").values.values[0];
  const std::vector<double> of_documents = golden_.read_reals("loss_baseline_document").values;
  EXPECT_TRUE(std::ranges::any_of(of_documents, [&](double one) {
    return std::abs(baseline - one) < test::float32_tolerance * one;
  }));
  // Resampling z needs a second document.
  EXPECT_TRUE(std::isnan(pruning.variable("loss_increase").values(2, 0, 0)));
  const double all = golden_.read_reals("loss_baseline").values[0];
  EXPECT_NEAR(pruning.variable("loss").values.values[0], all, test::float32_tolerance * all)
      << "of all documents read";
}

/// Precision by name, and the error that its help states, relative to a typical increase.
class PruningPrecision : public PruningAnalysis,
                         public testing::WithParamInterface<std::pair<const char*, double>> {};

TEST_P(PruningPrecision, IsRecordedWithItsMeasuredError) {
  const auto [name, bound] = GetParam();
  const Results results = run(name, {"--precision", name, "--engine", "int16"});
  const auto text = [&](const char* attribute) {
    return std::get<std::string>(results.attributes.at(attribute));
  };
  EXPECT_EQ(text("precision"), name);
  EXPECT_EQ(text("precision_engine"), "int16");
  EXPECT_EQ(text("pass_engine"), "float32");
  EXPECT_EQ(text("gradient_engine"), "float32");
  const ResultsGroup& lower = results.group("pruning");
  const Array& error = lower.variable("precision_error").values;
  EXPECT_GT(error(0), 0);
  EXPECT_LT(error(0), bound);
  EXPECT_LT(error(1), 3 * bound) << "the worst of the sample";
  const std::vector<double>&exact = group().variable("loss_increase").values.values,
        &got = lower.variable("loss_increase").values.values;
  const double typical = arma::median(arma::abs(arma::vec(exact)));
  std::vector<double> errors;
  for (std::size_t i = 0; i < exact.size(); ++i) errors.push_back(std::abs(got[i] - exact[i]));
  EXPECT_LT(arma::median(arma::vec(errors)), bound * typical);
}

INSTANTIATE_TEST_SUITE_P(Every, PruningPrecision,
                         testing::Values(std::pair("high", 1e-3), std::pair("fast", 1e-2)),
                         [](const auto& test) { return std::string(test.param.first); });

TEST(PruningPrecisionName, UnknownIsRefused) {
  const test::Finished finished =
      test::run_headscope({"run", "--precision", "half", "--output", "out"});
  EXPECT_EQ(finished.exit_status, 2);
  EXPECT_THAT(finished.err,
              testing::HasSubstr("--precision: expected one of float32, high, fast; got"));
}

}  // namespace
}  // namespace headscope
