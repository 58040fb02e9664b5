#include "run.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "commands.hpp"
#include "default_data.hpp"
#include "headscope/error.hpp"
#include "headscope/report.hpp"
#include "headscope/version.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

/// An analysis on its way through a run, with what it keeps.
struct RunningAnalysis {
  const RegisteredAnalysis* registered;
  std::unique_ptr<Analysis> analysis;
  Statistics statistics;
};
using RunningAnalyses = std::vector<RunningAnalysis>;

bool is_weights_only(const RegisteredAnalysis& analysis) {
  return !analysis.info.needs_corpus;
}

/// The analyses asked for, or all that model and corpus allow.
std::vector<const RegisteredAnalysis*> choose_analyses(const RunOptions& options,
                                                       const Model& model, bool has_corpus) {
  std::vector<const RegisteredAnalysis*> chosen;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    const auto& asked = options.analyses;
    const bool is_asked = std::find(asked.begin(), asked.end(), analysis.info.name) != asked.end();
    const bool possible = is_weights_only(analysis) || (has_corpus && model.is_complete());
    if (is_asked && !possible) {
      if (!has_corpus)
        throw UsageError("--analyses " + analysis.info.name + ": expected --corpus, got none");
      throw DataError(model.path, "",
                      "expected a complete model for the analysis " + analysis.info.name +
                          ", got attention weights only (no token embedding or MLP)");
    }
    if (is_asked || (asked.empty() && possible)) chosen.push_back(&analysis);
  }
  return chosen;
}

RunningAnalyses make_analyses(const std::vector<const RegisteredAnalysis*>& chosen,
                              const AnalysisContext& context) {
  RunningAnalyses running;
  for (const RegisteredAnalysis* registered : chosen) {
    running.push_back({registered, registered->make(context), {}});
  }
  return running;
}

/// Shows every document to the analyses, as often as the one that needs most passes wants. All of
/// them share the last pass, so that analyses whose first pass only counts cost one forward pass.
/// @return tokens of the corpus that were run.
std::uint64_t observe_corpus(const Model& model, const Corpus& corpus, RunningAnalyses& running,
                             Progress::Style progress_style, const std::string& task) {
  int n_pass = 0;
  for (const RunningAnalysis& item : running) {
    if (item.registered->info.needs_corpus) n_pass = std::max(n_pass, item.analysis->n_pass());
  }
  if (n_pass == 0) return 0;
  Forward forward(model);
  Forward end_forward(model);
  std::uint64_t n_token = 0;
  for (int pass = 0; pass < n_pass; ++pass) {
    std::vector<RunningAnalysis*> in_pass;
    for (RunningAnalysis& item : running) {
      const int own_pass = pass - (n_pass - item.analysis->n_pass());
      if (!item.registered->info.needs_corpus || own_pass < 0) continue;
      item.analysis->begin_pass(own_pass, item.statistics);
      in_pass.push_back(&item);
    }
    const std::string name = n_pass == 1 ? task
                                         : task + " (pass " + std::to_string(pass + 1) + " of " +
                                               std::to_string(n_pass) + ")";
    Progress progress(progress_style, name, corpus.n_document());
    for (std::uint64_t index = 0; index < corpus.n_document(); ++index) {
      const Document document = corpus.document(index);
      std::vector<LayerObserver*> observers;
      std::vector<Analysis*> observing;
      for (RunningAnalysis* item : in_pass) {
        if (!item->analysis->begin_document(document, item->statistics)) continue;
        observers.push_back(item->analysis.get());
        observing.push_back(item->analysis.get());
      }
      if (!observing.empty()) {
        const Matrix& resid_final = forward.run(document.tokens, observers);
        for (Analysis* analysis : observing) analysis->end_document({resid_final, end_forward});
      }
      if (pass == 0) n_token += document.tokens.size();
      progress.advance(document.tokens.size());
    }
  }
  return n_token;
}

std::string utc_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void add_provenance(Results& results, const RunOptions& options, const Model& model,
                    const Corpus* corpus, std::uint64_t n_token) {
  auto& attributes = results.attributes;
  const auto count = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  attributes["title"] = "Headscope results";
  attributes["version"] = version();
  attributes["git_commit"] = git_commit();
  attributes["command_line"] = options.command_line;
  attributes["options"] = options.as_json;
  attributes["seed"] = count(options.settings.seed);
  attributes["date"] = utc_date();
  attributes["blas"] = blas::library_description();
  attributes["threads"] = std::int64_t{blas::thread_count()};
  attributes["model_path"] = model.path;
  attributes["model_sha256"] = model.sha256;
  const ModelConfig& config = model.config;
  attributes["n_layer"] = count(config.n_layer);
  attributes["n_head"] = count(config.n_head);
  attributes["d_model"] = count(config.d_model);
  attributes["d_head"] = count(config.d_head());
  attributes["n_ctx"] = count(config.n_ctx);
  attributes["d_vocab"] = count(config.d_vocab);
  attributes["activation"] = std::string(activation_name(config.activation));
  if (corpus == nullptr) return;
  std::string paths;
  for (const std::string& path : options.corpus) paths += (paths.empty() ? "" : " ") + path;
  attributes["corpus_path"] = paths;
  attributes["corpus_sha256"] = corpus->sha256();
  attributes["n_document"] = count(corpus->n_document());
  attributes["n_token"] = count(n_token);
}

std::optional<Tokenizer> open_tokenizer(const RunOptions& options, const Model& model) {
  if (!options.tokenizer.empty()) return Tokenizer::from_directory(options.tokenizer);
  if (model.tokenizer_vocab && model.tokenizer_merges) {
    return Tokenizer(*model.tokenizer_vocab, *model.tokenizer_merges, model.path + ":tokenizer");
  }
  return std::nullopt;
}

std::optional<Corpus> open_corpus(const RunOptions& options, const Model& model,
                                  const Tokenizer* tokenizer) {
  if (options.corpus.empty()) return std::nullopt;
  CorpusOptions corpus_options;
  corpus_options.prepend_bos = options.prepend_bos;
  corpus_options.max_tokens = model.config.n_ctx;
  corpus_options.max_documents = options.max_documents;
  return Corpus(options.corpus, tokenizer, corpus_options);
}

/// Fills in the model and stories of data/ where the user named none.
RunOptions with_defaults(RunOptions options) {
  if (!options.model.empty()) return options;
  options.model = default_data_path("default-model.h5");
  if (options.corpus.empty()) options.corpus = {default_data_path("stories.conllu")};
  return options;
}

}  // namespace

Results run_analyses(const RunOptions& asked) {
  const RunOptions options = with_defaults(asked);
  blas::set_thread_count(options.threads);
  const Progress::Style progress_style = Progress::detect(options.quiet);

  const Model model = load_model(options.model, {options.n_head});
  const std::optional<Tokenizer> tokenizer = open_tokenizer(options, model);
  const std::vector<const RegisteredAnalysis*> chosen =
      choose_analyses(options, model, !options.corpus.empty());
  const std::optional<Corpus> corpus =
      open_corpus(options, model, tokenizer ? &*tokenizer : nullptr);
  const Corpus* const corpus_pointer = corpus ? &*corpus : nullptr;

  RunningAnalyses running = make_analyses(chosen, {model, corpus_pointer, options.settings});
  std::uint64_t n_token = 0;
  if (corpus) n_token = observe_corpus(model, *corpus, running, progress_style, "model");

  Results results;
  add_provenance(results, options, model, corpus_pointer, n_token);
  std::vector<std::size_t> main_group;  // of each analysis, in results.groups
  for (const RunningAnalysis& item : running) {
    main_group.push_back(results.groups.size());
    for (ResultsGroup& group : item.analysis->finish(item.statistics)) {
      results.groups.push_back(std::move(group));
    }
  }

  if (options.random_control) {
    std::vector<const RegisteredAnalysis*> controlled;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(controlled),
                 [](const RegisteredAnalysis* analysis) { return analysis->info.has_control; });
    const Model control = random_model(model.config, options.settings.seed);
    RunningAnalyses running_control =
        make_analyses(controlled, {control, corpus_pointer, options.settings});
    if (corpus)
      observe_corpus(control, *corpus, running_control, progress_style, "untrained control");
    for (const RunningAnalysis& item : running_control) {
      for (ResultsGroup& group : item.analysis->finish(item.statistics)) {
        group.name = "control/" + group.name;
        group.claims.clear();
        results.groups.push_back(std::move(group));
      }
      const auto trained = std::find_if(
          running.begin(), running.end(),
          [&](const RunningAnalysis& other) { return other.registered == item.registered; });
      ResultsGroup& group =
          results.groups[main_group[static_cast<std::size_t>(trained - running.begin())]];
      trained->analysis->compare(trained->statistics, item.statistics, group);
    }
  }
  return results;
}

void draw_results(const Results& results, const std::string& directory,
                  const std::vector<std::string>& figure_formats) {
  const fs::path root(directory);
  for (const char* old : {"tables", "figures", "report.html", "report.md"})
    fs::remove_all(root / old);
  fs::create_directories(root / "tables");
  fs::create_directories(root / "figures");
  write_tables(results, (root / "tables").string());
  std::vector<Figure> figures;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (!results.has(analysis.info.name)) continue;
    for (Figure& figure : analysis.draw(results)) {
      write_figure(figure, (root / "figures").string(), figure_formats);
      figures.push_back(std::move(figure));
    }
  }
  write_report(results, figures, directory);
}

void run_command(const Arguments& arguments) {
  const std::optional<RunOptions> options = parse_run_options(arguments);
  if (!options) return;
  std::error_code failure;
  fs::create_directories(options->output, failure);
  if (failure) throw DataError(options->output, "", "cannot be made: " + failure.message());

  const Results results = run_analyses(*options);
  const std::string file = (fs::path(options->output) / "results.h5").string();
  write_results(results, file);
  draw_results(results, options->output, options->figure_formats);
  if (!options->quiet) {
    std::cerr << "report: " << (fs::path(options->output) / "report.html").string() << "\n";
  }
}

}  // namespace headscope
