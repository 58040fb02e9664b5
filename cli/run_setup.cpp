#include "run_setup.hpp"

#include <algorithm>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/thread_count.hpp"
#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "headscope/provenance.hpp"
#include "headscope/run_memory.hpp"
#include "memory_limits.hpp"
#include "registry.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

const RunOptions& with_threads_set(const RunOptions& options) {
  blas::set_thread_count(static_cast<int>(options.threads));
  return options;
}

std::vector<std::string> find_corpus(const RunOptions& options) {
  if (!options.model.empty() || !options.corpus.empty()) return options.corpus;
  return {default_data_path("stories.conllu")};
}

std::vector<std::string> find_tasks(const RunOptions& options) {
  if (!options.model.empty() || !options.tasks.empty()) return options.tasks;
  return {default_data_path("tasks.jsonl")};
}

/// The analyses asked for, or else all that model, corpus and tasks allow.
std::vector<const RegisteredAnalysis*> choose_analyses(const RunOptions& options, bool has_corpus,
                                                       bool has_tasks, const Model& model) {
  std::vector<const RegisteredAnalysis*> chosen;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    const auto& asked = options.analyses;
    const bool is_asked = std::find(asked.begin(), asked.end(), analysis.info.name) != asked.end();
    const AnalysisInfo& info = analysis.info;
    const bool lacks_corpus = info.needs_corpus() && !has_corpus,
               lacks_tasks = info.needs_tasks() && !has_tasks,
               possible = !lacks_corpus && !lacks_tasks &&
                          (!info.needs_complete_model() || model.is_complete());
    if (is_asked && !possible) {
      if (model.is_complete()) {
        throw UsageError("--analyses " + info.name + ": expected " +
                         (lacks_corpus ? "--corpus" : "--tasks") + ", got none");
      }
      throw DataError(model.path, "",
                      "expected a complete model for the analysis " + analysis.info.name +
                          ", got attention weights only (no token embedding or MLP)");
    }
    if (is_asked || (asked.empty() && possible)) chosen.push_back(&analysis);
  }
  return chosen;
}

/// Checks --memory, and the limit of the address space, against documents as long as the model's
/// context.
void check_memory_of(const RunOptions& options, const ModelConfig& config, std::uint64_t weights,
                     std::uint64_t n_document, std::uint64_t n_task,
                     const std::vector<const RegisteredAnalysis*>& analyses) {
  const std::vector<MemoryPart> parts =
      run_memory({config, options.settings, config.n_ctx, n_document, blas::thread_count(), n_task},
                 weights, analyses, options.random_control());
  if (options.memory > 0) check_memory(parts, options.memory);
  check_address_space(total_bytes(parts));
}

/// Checks --memory against the model's weights before it loads them.
Model load_checked_model(const RunOptions& options) {
  const std::string path = model_path(options.model);
  const LoadOptions load{options.n_head};
  if (options.memory > 0) {
    const FileDescription file = describe_file(path, load);
    if (file.model)
      check_memory_of(options, file.model->config, weight_bytes(*file.model), 0, 0, {});
  }
  return load_model(path, load);
}

}  // namespace

RunSetup::RunSetup(const RunOptions& options)
    : options_(with_threads_set(options)),
      corpus_paths_(find_corpus(options)),
      task_paths_(find_tasks(options)),
      model_(load_checked_model(options_)),
      analyses_(choose_analyses(options_, !corpus_paths_.empty(), !task_paths_.empty(), model_)) {
  bool needs_corpus = false, needs_tasks = false;
  for (const RegisteredAnalysis* analysis : analyses_) {
    needs_corpus |= analysis->info.needs_corpus();
    needs_tasks |= analysis->info.needs_tasks();
  }
  if (needs_corpus || needs_tasks) tokenizer_ = open_tokenizer(options_.tokenizer, model_);
  if (needs_corpus) {
    corpus_.emplace(corpus_paths_, tokenizer_ ? &*tokenizer_ : nullptr,
                    CorpusOptions{.prepend_bos = options_.prepend_bos,
                                  .max_tokens = model_.config.n_ctx,
                                  .max_documents = options_.max_documents,
                                  .encoding = options_.encoding,
                                  .document_sentences = options_.document_sentences});
  }
  if (needs_tasks) {
    if (!tokenizer_) {
      throw DataError(task_paths_.front(), "", "expected a tokenizer to read text with, got none");
    }
    tasks_.emplace(task_paths_, *tokenizer_, TaskOptions{model_.config.n_ctx, options_.max_pairs});
  }
  check_memory_of(options_, model_.config, weight_bytes(model_),
                  corpus_ ? corpus_->n_document() : 0, tasks_ ? tasks_->tasks().size() : 0,
                  analyses_);
}

std::vector<std::string> RunSetup::notes() const {
  std::vector<std::string> notes;
  if (options_.threads == 0) {
    const blas::ThreadCount threads = blas::default_thread_count();
    notes.push_back(count_text(static_cast<std::uint64_t>(threads.count), "thread") + ": " +
                    threads.reason);
  }
  std::vector<std::string> left;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (std::find(analyses_.begin(), analyses_.end(), &analysis) != analyses_.end()) continue;
    left.push_back(analysis.info.name);
  }
  if (options_.analyses.empty() && !left.empty()) {
    notes.push_back("leaves out " + joined(left, ", ") + ": " +
                    (corpus_paths_.empty() ? "there is no --corpus"
                                           : model_.path + " holds attention weights only"));
  }
  if (!corpus_ && !corpus_paths_.empty())
    notes.emplace_back("does not read --corpus: no analysis needs it");
  if (!corpus_) return notes;
  for (const CorpusFolder& folder : corpus_->folders()) {
    notes.push_back(corpus_folder_text(folder));
  }
  for (const UndividedFile& file : corpus_->undivided_files()) {
    notes.push_back(undivided_file_text(file));
  }
  return notes;
}

RunInput RunSetup::input() const {
  RunInput input{.context = {model_, corpus_ ? &*corpus_ : nullptr, options_.settings,
                             tasks_ ? &*tasks_ : nullptr},
                 .analyses = analyses_,
                 .has_control = options_.random_control(),
                 .n_control_document = options_.control_documents};
  if (tokenizer_) input.identity["tokenizer SHA-256"] = tokenizer_->sha256();
  for (const Option& option : options_.table.options()) {
    if (option.scope != OptionScope::numbers) continue;
    input.identity["--" + option.name] =
        option.is_switch() ? (option.given ? "true" : "false") : option.words.front();
  }
  input.attributes = {{"command_line", recorded_text(options_.command_line)},
                      {"options", options_.as_json()}};
  if (tasks_) input.attributes["tasks_path"] = recorded_text(joined(task_paths_, " "));
  if (!corpus_) return input;
  input.attributes["corpus_path"] = recorded_text(joined(corpus_paths_, " "));
  const std::string undivided = joined(corpus_->undivided_files(), "; ", undivided_file_text);
  if (!undivided.empty()) input.attributes["corpus_warning"] = undivided + ".";
  return input;
}

}  // namespace headscope
