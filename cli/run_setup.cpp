#include "run_setup.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <ranges>
#include <set>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/thread_count.hpp"
#include "files/sha256.hpp"
#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "headscope/output_lock.hpp"
#include "headscope/provenance.hpp"
#include "headscope/run_memory.hpp"
#include "memory_limits.hpp"
#include "registry.hpp"
#include "terminal.hpp"
#include "unused_options.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

RunOptions& with_threads_set(RunOptions& options) {
  blas::set_thread_count(static_cast<int>(options.threads));
  return options;
}

std::vector<std::string> find_corpus(const RunOptions& options) {
  if (!options.model.empty() || !options.corpus.empty()) return options.corpus;
  return {default_corpus()};
}

std::vector<std::string> find_tasks(const RunOptions& options) {
  if (!options.model.empty() || !options.tasks.empty()) return options.tasks;
  return {default_tasks()};
}

/// The analyses asked for, or else all that model, corpus and tasks allow.
std::vector<const RegisteredAnalysis*> choose_analyses(const RunOptions& options, bool has_corpus,
                                                       bool has_tasks, const Model& model) {
  std::vector<const RegisteredAnalysis*> chosen;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    const AnalysisInfo& info = analysis.info;
    const bool is_asked = std::ranges::count(options.analyses, info.name) > 0,
               lacks_corpus = info.needs_corpus() && !has_corpus,
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
    if (is_asked || (options.analyses.empty() && possible)) chosen.push_back(&analysis);
  }
  return chosen;
}

/// Most tokens of a piece. @throws UsageError if --context exceeds the model's.
Index context_of(const RunOptions& options, const ModelConfig& config) {
  if (options.context > config.n_ctx) {
    throw UsageError("--context: expected at most " + grouped(config.n_ctx) + ", " +
                     std::string(config.context_bound()) + ", got " +
                     std::to_string(options.context));
  }
  return options.context > 0 ? options.context : std::min<Index>(config.n_ctx, default_context);
}

/// Refuses a corpus of more relations than analyses keep sums of.
void check_relations(const Corpus& corpus, const std::string& paths,
                     const std::vector<const RegisteredAnalysis*>& analyses) {
  if (corpus.n_relation() <= most_relations) return;
  const auto keeps = [](const RegisteredAnalysis* analysis) {
    return analysis->info.keeps_relations;
  };
  const std::string names =
      joined(analyses | std::views::filter(keeps), " and ",
             [](const RegisteredAnalysis* analysis) { return analysis->info.name; });
  if (names.empty()) return;
  throw DataError(
      paths, "DEPREL",
      "expected at most " + std::to_string(most_relations) + " relations for " + names + ", got " +
          grouped(corpus.n_relation()) + "; Universal Dependencies has " +
          std::to_string(n_universal_relation) +
          " (what follows a colon does not count); --analyses chooses analyses without relations");
}

/// `; fewer analyses or fewer than 90 relations take less`; without analyses, that they take more.
std::string less_memory_text(const RunShape& run,
                             const std::vector<const RegisteredAnalysis*>& analyses) {
  if (analyses.empty()) return "; the analyses, counted after the model is read, take more";
  std::vector<std::string> fewer;
  if (analyses.size() > 1) fewer.emplace_back("fewer analyses");
  if (run.n_relation > n_universal_relation) {
    fewer.push_back("fewer than " + grouped(run.n_relation) + " relations");
  }
  constexpr std::uint64_t many_tasks = 100;
  if (run.n_task > many_tasks) fewer.push_back("fewer than " + grouped(run.n_task) + " tasks");
  constexpr std::uint64_t many_draws = 100'000;
  for (const auto& [n_draw, what] : {std::pair{run.settings.n_bootstrap, "resamples (--bootstrap)"},
                                     {run.settings.n_null, "draws (--nulls)"}}) {
    if (n_draw > many_draws) fewer.push_back("fewer than " + grouped(n_draw) + " " + what);
  }
  return fewer.empty() ? "" : "; " + joined(fewer, " or ") + " take less";
}

/// Tokens of the largest task, those that the sides of a pair share counted once.
std::uint64_t most_pair_tokens(const std::vector<Task>& tasks) {
  std::uint64_t most = 0;
  for (const Task& task : tasks) {
    std::uint64_t n_token = 0;
    for (const TaskPair& pair : task.pairs) {
      n_token += pair.good.size() + pair.bad.size() - pair.n_shared;
    }
    most = std::max(most, n_token);
  }
  return most;
}

/// Checks --memory (without it, the machine's memory) and the limit of the address space against
/// pieces of the longest length.
void check_memory_of(const RunOptions& options, const RunShape& run, std::uint64_t weights,
                     const std::vector<const RegisteredAnalysis*>& analyses) {
  const std::vector<MemoryPart> parts =
      run_memory(run, weights, analyses, options.random_control());
  const std::string what_helps = less_memory_text(run, analyses);
  if (options.memory > 0) {
    check_memory(parts, options.memory, what_helps);
  } else if (const std::string warning = memory_warning(parts, available_memory(), what_helps);
             !warning.empty()) {
    std::cerr << Terminal::error().warning(warning);
  }
  check_address_space(total_bytes(parts));
}

/// Checks --memory against the model's weights before it loads them.
Model load_checked_model(const RunOptions& options) {
  const std::string path = model_path(options.model);
  const LoadOptions load{options.n_head};
  if (options.memory > 0) {
    const FileDescription file = describe_file(path, load);
    if (file.model) {
      const RunShape run{.config = file.model->config,
                         .settings = options.settings,
                         .n_thread = blas::thread_count()};
      check_memory_of(options, run, weight_bytes(*file.model), {});
    }
  }
  return load_model(path, load);
}

/// `products by int16; in a trial int16 1.82 times float32's speed`.
std::string precision_note(const EngineRecord& record) {
  const std::string speeds = speeds_text(record.speeds);
  return "products by " + engine_name(record.engines.differences) +
         (speeds.empty() ? "" : "; in a trial " + speeds);
}

/// Engines that another machine chose must give the same bits on this one.
/// @param place  file or folder that holds the choice.
void take_engines(RunOptions& options, const Engines& engines, const std::string& place) {
  if (!options.files.mixed) check_engines(engines, place);
  options.settings.engines = engines;
}

/// What shards and resumed runs must agree on: of a file, its contents.
std::string identity_of(const Option& option) {
  if (option.is_switch()) return option.given ? "true" : "false";
  if (option.words.empty()) return "none";
  return option.is_path() ? file_sha256(option.words.front()) : option.words.front();
}

bool is_of_one_process(const RunOptions& options) {
  return options.files.n_shard == 1 && !options.files.resume;
}

/// Sets the engines of the options; nullopt if they have them.
std::optional<EngineRecord> engines_for(RunOptions& options, const Model& model) {
  if (!options.restored_from.empty()) {
    take_engines(options, options.settings.engines, options.restored_from);
    return std::nullopt;
  }
  EngineRecord chosen;
  std::optional<EngineRecord> kept;
  if (!is_of_one_process(options)) kept = read_engine_record(options.output.folder);
  const auto request = engine_request(model, options.settings);
  if (kept && kept->request == request) {
    chosen = *kept;
  } else {
    check_trial_memory(weight_bytes(model));
    chosen = choose_engines(model, options.settings);
  }
  take_engines(options, chosen.engines, options.output.folder);
  return chosen;
}

}  // namespace

RunSetup::RunSetup(RunOptions& options)
    : options_(with_threads_set(options)),
      corpus_paths_(find_corpus(options)),
      task_paths_(find_tasks(options)),
      model_(load_checked_model(options_)),
      context_(context_of(options_, model_.config)),
      engines_(engines_for(options_, model_)),
      analyses_(choose_analyses(options_, !corpus_paths_.empty(), !task_paths_.empty(), model_)) {
  model_.config = config_of_run(model_.config, context_);
  bool needs_corpus = false, needs_tasks = false;
  for (const RegisteredAnalysis* analysis : analyses_) {
    needs_corpus |= analysis->info.needs_corpus();
    needs_tasks |= analysis->info.needs_tasks();
  }
  if (needs_corpus || needs_tasks) tokenizer_ = open_tokenizer(options_.reading, model_);
  if (needs_corpus) {
    CorpusOptions documents = options_.documents;
    documents.prepend_bos = options_.reading.prepend_bos;
    documents.max_tokens = context_;
    documents.d_vocab = model_.config.d_vocab;
    corpus_.emplace(corpus_paths_, tokenizer_ ? &*tokenizer_ : nullptr, documents);
  }
  if (needs_tasks) {
    if (!tokenizer_) {
      throw DataError(task_paths_.front(), "", "expected a tokenizer to read text with, got none",
                      Remedy::tokenizer);
    }
    tasks_.emplace(task_paths_, *tokenizer_,
                   TaskOptions{.max_tokens = context_,
                               .max_pairs = options_.max_pairs,
                               .prepend_bos = options_.reading.prepend_bos});
  }
  if (corpus_) check_relations(*corpus_, joined(corpus_paths_, " "), analyses_);
  AnalysisSettings settings = options_.settings;
  if (is_idle(options_.table.at("bootstrap"), analyses_)) settings.n_bootstrap = 0;
  check_memory_of(options_,
                  {.config = model_.config,
                   .settings = settings,
                   .n_token = corpus_ && !tasks_ ? corpus_->longest_piece() : context_,
                   .n_document = corpus_ ? corpus_->n_document() : 0,
                   .n_thread = blas::thread_count(),
                   .n_task = tasks_ ? tasks_->tasks().size() : 0,
                   .n_relation = corpus_ ? corpus_->n_relation() : 0,
                   .n_pair_token = tasks_ ? most_pair_tokens(tasks_->tasks()) : 0},
                  weight_bytes(model_), analyses_);
}

std::vector<std::string> RunSetup::notes() const {
  std::vector<std::string> notes;
  if (options_.threads == 0) {
    const blas::ThreadCount threads = blas::default_thread_count();
    notes.push_back(count_text(static_cast<std::uint64_t>(threads.count), "thread") + ": " +
                    threads.reason);
  }
  if (options_.settings.precision != "float32" && engines_ &&
      !is_idle(options_.table.at("precision"), analyses_)) {
    notes.push_back("--precision " + options_.settings.precision + ": " +
                    precision_note(*engines_));
  }
  if (options_.analyses.empty()) {
    std::map<std::string, std::vector<std::string>> left;  // by what they lack
    for (const RegisteredAnalysis& analysis : analysis_registry()) {
      if (std::ranges::count(analyses_, &analysis) > 0) continue;
      const AnalysisInfo& info = analysis.info;
      const bool lacks_model = info.needs_complete_model() && !model_.is_complete(),
                 lacks_corpus = info.needs_corpus() && corpus_paths_.empty();
      left[lacks_model    ? model_.path + " holds attention weights only"
           : lacks_corpus ? "there is no --corpus"
                          : "there is no --tasks"]
          .push_back(info.name);
    }
    for (const auto& [lack, names] : left) {
      notes.push_back("leaves out " + joined(names, ", ") + ": " + lack);
    }
  }
  if (!corpus_ && !options_.corpus.empty())
    notes.emplace_back("does not read --corpus: no analysis needs it");
  if (!tasks_ && !options_.tasks.empty())
    notes.emplace_back("does not read --tasks: no analysis needs it");
  const auto has_control = [](const RegisteredAnalysis* analysis) {
    return analysis->info.control_pass >= 0;
  };
  if (options_.random_control() && std::ranges::none_of(analyses_, has_control))
    notes.emplace_back("does not use --control random: no analysis has a control");
  std::ranges::move(unused_option_notes(options_, analyses_, context()), std::back_inserter(notes));
  std::ranges::move(model_notes(model_), std::back_inserter(notes));
  const std::optional<Index> first_token = model_.config.first_token;
  if (tokenizer_ && options_.reading.prepend_bos && options_.reading.bos.empty() &&
      first_token >= tokenizer_->size()) {
    notes.push_back("does not begin documents with the bos_token_id of the config, " +
                    std::to_string(*first_token) + ": the vocabulary has " +
                    count_text(tokenizer_->size(), "token"));
  }
  if (corpus_) std::ranges::move(corpus_notes(*corpus_), std::back_inserter(notes));
  if (tasks_) std::ranges::move(tasks_warnings(*tasks_), std::back_inserter(notes));
  return notes;
}

void RunSetup::keep_engines() {
  if (!engines_) return;
  const std::string& folder = options_.output.folder;
  std::optional<EngineRecord> kept;
  // A folder that another run writes to keeps that run's record.
  std::optional<OutputLock> lock;
  if (is_of_one_process(options_)) {
    lock.emplace(folder);
  } else {
    kept = keep_first_engine_record(folder, *engines_);
    const std::vector<std::string> begun = find_pass_files(folder);
    if (kept->request != engines_->request && !begun.empty()) {
      for (const auto& [name, value] : engines_->request) {
        const std::string& other = kept->request[name];
        if (other == value) continue;
        throw DataError(begun.front(), "",
                        name + " is " + other + ", but " + value + " in this run");
      }
    }
  }
  if (!kept || kept->request != engines_->request) {
    write_engine_record(folder, *engines_);
  } else {
    engines_ = kept;
    take_engines(options_, kept->engines, folder);
  }
}

AnalysisContext RunSetup::context() const {
  return {model_, corpus_ ? &*corpus_ : nullptr, options_.settings, tasks_ ? &*tasks_ : nullptr};
}

RunInput RunSetup::input() const {
  RunInput input{.context = context(),
                 .analyses = analyses_,
                 .has_control = options_.random_control(),
                 .n_control_document = options_.control_documents};
  if (tokenizer_) {
    input.identity["tokenizer SHA-256"] = tokenizer_->sha256();
    if (options_.reading.prepend_bos) {
      input.identity["first token"] = std::to_string(tokenizer_->first_token());
    }
  }
  for (const Option& option : options_.table.options()) {
    if (option.scope != OptionScope::numbers || is_idle(option, analyses_)) continue;
    std::string& identity = input.identity["--" + option.name] = identity_of(option);
    if (option.is_path() && option.given) input.attributes[sha256_attribute(option)] = identity;
  }
  input.attributes["command_line"] = recorded_text(options_.command_line);
  input.attributes["options"] = options_.as_json();
  if (corpus_ || tasks_) input.attributes["context"] = static_cast<std::int64_t>(context_);
  if (tokenizer_) {
    input.attributes["tokenizer_sha256"] = tokenizer_->sha256();
    input.attributes["first_token"] =
        recorded_text(first_token_text(*tokenizer_, options_.reading.prepend_bos));
  }
  const auto record_warnings = [&](const char* name, const std::vector<std::string>& warnings) {
    if (!warnings.empty()) input.attributes[name] = recorded_text(joined(warnings, "; ") + ".");
  };
  if (tasks_) {
    input.attributes["tasks_path"] = recorded_text(joined(task_paths_, " "));
    record_warnings("tasks_warning", tasks_warnings(*tasks_));
  }
  if (!corpus_) return input;
  input.attributes["corpus_path"] = recorded_text(joined(corpus_paths_, " "));
  record_warnings("corpus_warning", corpus_warnings(*corpus_));
  return input;
}

}  // namespace headscope
