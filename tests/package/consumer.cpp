// An analysis of an outside project: how much attention each head gives to position 0, and how much
// documents differ in it. It is run whole, in two shards, and stopped and resumed.
#include <cmath>
#include <headscope/random.hpp>
#include <headscope/results.hpp>
#include <headscope/run.hpp>
#include <headscope/tokenizer.hpp>
#include <iostream>

namespace {

using namespace headscope;

struct FirstTokenOptions {
  std::uint64_t n_skipped = 1;

  void declare(OptionTable& option) {
    option(n_skipped, {"first-token-skipped", "N", "number of first queries left out"});
  }
};

/// Pass 0 sums the attention to position 0, pass 1 the squares of each document's distance from the
/// mean.
class FirstToken : public CorpusAnalysis {
 public:
  explicit FirstToken(const AnalysisContext& context)
      : config_(context.model.config),
        n_skipped_(context.settings.options<FirstTokenOptions>().n_skipped) {}

  void begin_pass(int pass, const Statistics& earlier) override {
    if (pass == 1) mean_ = mean_of(earlier);
  }
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;
  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    ResultsGroup group;
    group.name = "first_token";
    group.add_dimension(Dimension::count("layer", config_.n_layer));
    group.add_dimension(Dimension::count("head", config_.n_head));
    group.add({"mean", "layer head", "probability", "Mean attention to position 0"},
              mean_of(statistics));
    Array spread = statistics.total("squares");
    for (double& value : spread.values) value = std::sqrt(value);
    group.add({"spread", "layer head", "probability",
               "Root of the summed squares of the documents' distances from the mean"},
              spread);
    return {group};
  }

 private:
  class Observer;

  static Array mean_of(const Statistics& statistics) {
    Array mean = statistics.total("attention");
    for (double& value : mean.values) value /= statistics.total("n_query")(0);
    return mean;
  }

  ModelConfig config_;
  Index n_skipped_;
  Array mean_;  // empty in pass 0
};

class FirstToken::Observer : public PieceObserver {
 public:
  Observer(const FirstToken& analysis, DocumentStatistics& statistics)
      : analysis_(analysis), statistics_(statistics) {}

  bool wants_pattern(Index) const override { return true; }
  void observe_layer(const LayerView& view) override {
    const bool is_first_pass = analysis_.mean_.values.empty();
    const Index n_query = view.n_token - analysis_.n_skipped_;
    Array& sum = statistics_.sum(is_first_pass ? "attention" : "squares",
                                 {analysis_.config_.n_layer, analysis_.config_.n_head});
    for (Index head = 0; head < view.pattern.n_slices; ++head) {
      double attention = 0;
      for (Index query = analysis_.n_skipped_; query < view.n_token; ++query) {
        attention += view.pattern(0, query, head);
      }
      if (is_first_pass) {
        sum(view.layer, head) += attention;
      } else {
        const double mean = attention / static_cast<double>(n_query);
        sum(view.layer, head) += std::pow(mean - analysis_.mean_(view.layer, head), 2);
      }
    }
    if (is_first_pass && view.layer == 0) {
      statistics_.sum("n_query", {1})(0) += static_cast<double>(n_query);
    }
  }

 private:
  const FirstToken& analysis_;
  DocumentStatistics& statistics_;
};

std::unique_ptr<PieceObserver> FirstToken::begin_piece(const Piece& piece,
                                                       DocumentStatistics& statistics) {
  if (piece.tokens.size() <= n_skipped_) return nullptr;
  return std::make_unique<Observer>(*this, statistics);
}

struct Stopped {};

/// Stops a run after a number of pieces.
class StopAfter : public RunMonitor {
 public:
  explicit StopAfter(int n_piece) : n_left_(n_piece) {}
  void advance(bool, double, std::uint64_t) override { --n_left_; }
  bool wants_stop() const override { return n_left_ <= 0; }
  void save(const std::function<void()>& action, const std::string&) override {
    action();
    if (wants_stop()) throw Stopped();
  }

 private:
  int n_left_;
};

/// @param data  the folder with the default model and stories.
/// @param work  a folder to write to.
int run_analysis(const std::string& data, const std::string& work) {
  const Model model = load_model(data + "/default-model.h5");
  const Tokenizer tokenizer(tokenizer_files_of(model).value());
  CorpusOptions corpus_options;
  corpus_options.max_tokens = model.config.n_ctx;
  corpus_options.max_documents = 5;
  const Corpus corpus({data + "/stories.conllu"}, &tokenizer, corpus_options);

  const std::vector<RegisteredAnalysis> own{
      {.info = {.name = "first_token",
                .title = "Attention to the first token",
                .purpose = "Measures the attention to position 0.",
                .source = headscope_definition,
                .passes = {"averaging attention", "measuring its spread"}},
       .make = [](const AnalysisContext& context) { return std::make_unique<FirstToken>(context); },
       .options = &AnalysisSettings::declare_options<FirstTokenOptions>}};
  AnalysisSettings settings;
  OptionTable options;
  settings.declare(options, own);
  options.at("first-token-skipped").set({"2"});

  const RunInput input{.context = {model, &corpus, settings},
                       .analyses = {&own.front()},
                       .identity = {{"first-token-skipped", "2"}}};
  const auto run = [&](RunFiles files, RunMonitor&& monitor = RunMonitor()) {
    return ShardRun(input, std::move(files)).results(monitor);
  };
  const auto values_of = [](const Results& results) {
    const ResultsGroup& group = results.group("first_token");
    std::vector<double> values = group.variable("mean").values.values;
    const std::vector<double>& spread = group.variable("spread").values.values;
    values.insert(values.end(), spread.begin(), spread.end());
    return values;
  };

  const auto whole = run({.output = work + "/whole"});
  write_results(*whole, work + "/whole/results.h5");

  // The second pass of shard 1 needs the first one of shard 2.
  for (const int shard : {1, 2, 1}) {
    run({.output = work + "/shards", .shard = shard, .n_shard = 2});
  }
  RunMonitor silent;
  const Results merged = merge_shards(input, ShardTable({work + "/shards"}, false), silent);

  std::optional<Results> resumed;
  int n_stopped = 0;
  while (!resumed) {
    try {
      resumed = run({.output = work + "/resumed", .resume = true}, StopAfter(2));
    } catch (const Stopped&) {
      ++n_stopped;
    }
  }
  const bool is_same = values_of(merged) == values_of(*whole) &&
                       values_of(*resumed) == values_of(*whole) && n_stopped >= 5;
  std::cout << "first token: " << (is_same ? "the same" : "different") << " in two shards and with "
            << n_stopped << " stops; attention of L0H0 " << values_of(*whole).front() << "\n";
  return is_same ? 0 : 1;
}

}  // namespace

int main(int n_argument, char** arguments) {
  if (n_argument != 3) {
    std::cerr << "usage: consumer FOLDER-OF-HEADSCOPE-DATA OUTPUT-FOLDER\n";
    return 2;
  }
  try {
    return run_analysis(arguments[1], arguments[2]);
  } catch (const std::exception& error) {
    std::cerr << "consumer: " << error.what() << "\n";
    return 1;
  }
}
