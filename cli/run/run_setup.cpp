#include "run/run_setup.hpp"

#include <algorithm>
#include <iterator>

#include "commands.hpp"
#include "default_data.hpp"
#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "run/run_memory.hpp"

namespace headscope {
namespace {

/// Fills in the default model and stories where the user named none, and sets the threads.
RunOptions prepare(RunOptions options) {
  blas::set_thread_count(options.threads);
  if (!options.model.empty()) return options;
  options.model = default_data_path("default-model.h5");
  if (options.corpus.empty()) options.corpus = {default_data_path("stories.conllu")};
  return options;
}

/// The analyses asked for, or all that model and corpus allow.
std::vector<const RegisteredAnalysis*> choose_analyses(const RunOptions& options,
                                                       const Model& model) {
  const bool has_corpus = !options.corpus.empty();
  std::vector<const RegisteredAnalysis*> chosen;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    const auto& asked = options.analyses;
    const bool is_asked = std::find(asked.begin(), asked.end(), analysis.info.name) != asked.end();
    const bool possible = !analysis.info.needs_corpus || (has_corpus && model.is_complete());
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

std::optional<Tokenizer> open_tokenizer(const RunOptions& options, const Model& model) {
  if (!options.tokenizer.empty()) return Tokenizer::from_directory(options.tokenizer);
  if (model.tokenizer_vocab && model.tokenizer_merges) {
    return Tokenizer(*model.tokenizer_vocab, *model.tokenizer_merges, model.path + ":tokenizer");
  }
  return std::nullopt;
}

std::optional<Corpus> open_corpus(const RunOptions& options, const Model& model,
                                  const std::optional<Tokenizer>& tokenizer) {
  if (options.corpus.empty()) return std::nullopt;
  CorpusOptions corpus_options;
  corpus_options.prepend_bos = options.prepend_bos;
  corpus_options.max_tokens = model.config.n_ctx;
  corpus_options.max_documents = options.max_documents;
  return Corpus(options.corpus, tokenizer ? &*tokenizer : nullptr, corpus_options);
}

/// Checks --memory against documents as long as the model's context.
void check_memory_of(const RunOptions& options, const ModelConfig& config, std::uint64_t weights,
                     std::uint64_t n_document,
                     const std::vector<const RegisteredAnalysis*>& analyses) {
  if (options.memory == 0) return;
  check_memory(
      run_memory({config, options.settings, config.n_ctx, n_document, blas::thread_count()},
                 weights, analyses, options.random_control),
      options.memory);
}

/// Loads the model if there is room for its weights, whatever is to be done with them.
Model load_checked_model(const RunOptions& options) {
  const LoadOptions load{options.n_head};
  if (options.memory > 0) {
    const FileDescription file = describe_file(options.model, load);
    if (file.model) check_memory_of(options, file.model->config, weight_bytes(*file.model), 0, {});
  }
  return load_model(options.model, load);
}

}  // namespace

RunSetup::RunSetup(const RunOptions& options)
    : options_(prepare(options)),
      model_(load_checked_model(options_)),
      tokenizer_(open_tokenizer(options_, model_)),
      analyses_(choose_analyses(options_, model_)),
      corpus_(open_corpus(options_, model_, tokenizer_)) {
  check_memory_of(options_, model_.config, weight_bytes(model_),
                  corpus_ ? corpus_->n_document() : 0, analyses_);
}

std::vector<const RegisteredAnalysis*> RunSetup::controlled_analyses() const {
  std::vector<const RegisteredAnalysis*> controlled;
  if (!options_.random_control) return controlled;
  std::copy_if(analyses_.begin(), analyses_.end(), std::back_inserter(controlled),
               [](const RegisteredAnalysis* analysis) { return analysis->info.has_control; });
  return controlled;
}

}  // namespace headscope
