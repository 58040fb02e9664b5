#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <utility>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "commands.hpp"
#include "headscope/blas.hpp"
#include "headscope/corpus.hpp"
#include "headscope/inspect.hpp"
#include "headscope/report.hpp"
#include "headscope/results.hpp"
#include "headscope/tasks.hpp"
#include "inputs.hpp"
#include "inspect_model.hpp"
#include "option_parser.hpp"
#include "progress.hpp"
#include "registry.hpp"
#include "run/engine_record.hpp"
#include "run_options.hpp"
#include "run_output.hpp"
#include "shared_options.hpp"
#include "shell_text.hpp"
#include "terminal.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* config_name = "config.json";

/// `12.3 MB`; below a tenth of it in bytes.
std::string size_text(std::uint64_t n_byte) {
  constexpr double mega = 1e6;
  const double size = static_cast<double>(n_byte) / mega;
  return size < 0.1 ? count_text(n_byte, "byte") : decimals(size, 1) + " MB";
}

/// What was run, and the summary of the report.
/// @param path  of the file.
void print_results(const Results& results, const std::string& path) {
  check_dimensions(results, path, presentations_of(results));
  for (const char* const name : {"title", "date", "version", "model_path", "n_layer", "n_head",
                                 "d_model", "corpus_path", "n_document", "n_token"}) {
    if (results.attributes.contains(name)) print_line(name, results.text(name));
  }
  if (results.attributes.contains("precision_engine")) {
    print_line("differences by", results.text("precision_engine"));
  }
  if (const auto record = read_engine_record(fs::path(path).parent_path().string())) {
    const std::string speeds = speeds_text(record->speeds);
    print_line("engines, in a trial",
               (speeds.empty() ? "none" : speeds) + " (" + record->processor + ", " +
                   count_text(static_cast<std::size_t>(record->n_thread), "thread") + ")");
  }
  print_line("groups", joined(results.groups, ", ",
                              [](const ResultsGroup& group) { return one_line(group.name); }));
  for (const Finding& finding : findings(results, describe(results, presentations_of(results)))) {
    std::cout << "\n";
    print_paragraph(one_line(finding.about + ". " + finding.text));
    for (const std::string& item : finding.items) print_paragraph("- " + one_line(item));
  }
}

struct CorpusCounts {
  std::uint64_t n_token = 0, longest = 0;  // tokens of the longest document
  std::uint64_t n_word = 0, n_arc = 0, n_mention = 0;
  std::set<std::string> relations;
};

CorpusCounts counts_of(const Corpus& corpus) {
  CorpusCounts counts;
  for (std::uint64_t document = 0; document < corpus.n_document(); ++document) {
    std::uint64_t of_document = 0;
    for (std::uint64_t index = 0; index < corpus.n_piece(document); ++index) {
      const Piece piece = corpus.piece(document, index);
      of_document += piece.tokens.size();
      counts.n_word += piece.words.size();
      counts.n_mention += piece.mentions.size();
      for (const Word& word : piece.words) {
        if (!word.head) continue;
        ++counts.n_arc;
        counts.relations.insert(word.relation);
      }
    }
    counts.n_token += of_document;
    counts.longest = std::max(counts.longest, of_document);
  }
  return counts;
}

void print_tokens(const CorpusCounts& counts) {
  print_line("tokens", counts.n_token);
  print_line("longest document", count_text(counts.longest, "token"));
}

void print_description(const std::string& path, Index n_head, bool with_arrays) {
  const FileDescription file = describe_file(path, {n_head});
  print_heading(file.path, std::string(file_kind_text(file.kind)) + ", " + size_text(file.n_byte));
  if (file.kind == FileKind::results && !with_arrays) {
    return print_results(read_results(file.path), file.path);
  }
  for (const auto& [name, value] : file.attributes) print_line(name, value);
  if (file.model) print_model(*file.model, file.path);
  if (file.kind == FileKind::config) return;
  print_paragraph(count_text(file.arrays.size(), "array") +
                  (with_arrays ? "" : "; --arrays lists them"));
  if (with_arrays) {
    for (const TensorInfo& array : file.arrays) {
      print_paragraph("  " + one_line(array.name) + " " + shape_text(array.shape) + " " +
                      array.type);
    }
  }
  if (file.kind == FileKind::token_corpus) {
    const Corpus corpus({file.path}, nullptr, {.prepend_bos = false});
    print_line("documents", corpus.n_document());
    print_tokens(counts_of(corpus));
  }
}

/// The tokenizer in the folder, else that of the default model; and where it is.
std::pair<Tokenizer, std::string> tokenizer_for_counting(const TextOptions& reading) {
  const bool is_given = !reading.tokenizer.empty();
  const std::string place = is_given ? reading.tokenizer : default_data_path("default-model.h5");
  Tokenizer tokenizer = is_given ? Tokenizer::from_directory(place)
                                 : Tokenizer(tokenizer_files_of(load_model(place)).value());
  if (!reading.bos.empty()) begin_with_bos(tokenizer, reading.bos);
  return {std::move(tokenizer), place};
}

void print_corpus(const std::string& path, const TextOptions& reading,
                  const std::string& encoding) {
  const auto [tokenizer, tokenizer_name] = tokenizer_for_counting(reading);
  CorpusOptions options;
  options.encoding = encoding;
  options.prepend_bos = reading.prepend_bos;
  Progress progress(false);
  progress.phase("reading " + one_line(path));
  const Corpus corpus({path}, &tokenizer, options);
  const CorpusCounts counts = counts_of(corpus);
  progress.clear();
  print_heading(path, "corpus");
  for (const std::string& note : corpus_notes(corpus)) print_paragraph(one_line(note));
  print_line("tokenizer", tokenizer_name);
  print_line("documents", corpus.n_document());
  print_line("pieces", std::to_string(corpus.n_piece()) + ", of at most " +
                           std::to_string(options.max_tokens) + " tokens");
  print_tokens(counts);
  print_line("annotated words", counts.n_word);
  print_line("dependency arcs", std::to_string(counts.n_arc) + " of " +
                                    std::to_string(counts.relations.size()) + " relations");
  print_line("mentions of entities", counts.n_mention);
}

/// What is done of a run, and the command that continues it.
/// @param last  by shard: the label of its last pass file.
void print_unfinished(const std::string& path, const std::map<int, PassLabel>& last) {
  print_heading(path, "unfinished run");
  for (const auto& [shard, label] : last) {
    const bool is_whole = label.n_shard == 1;
    const PassFolder folder(path, label);
    const std::string lock =
        is_whole ? path + "/.lock" : folder.folder() + "/" + folder.lock_name(shard);
    print_line(is_whole ? "done"
                        : "shard " + std::to_string(shard) + " of " + std::to_string(label.n_shard),
               "pass " + std::to_string(label.pass) + " of " + std::to_string(label.n_pass) + ", " +
                   label.place);
    if (lock_state(lock) == LockState::held) {
      print_line("", "a process continues it now");
    } else if (is_whole || !folder.is_finished(shard, label.n_pass)) {
      print_line("continue with", resume_command_of(path, shard, label.n_shard));
    }
  }
  const PassLabel& any = last.begin()->second;
  if (any.n_shard > 1) {
    const PassFolder folder(path, any);
    const std::vector<int> unfinished = folder.unfinished_shards(any.n_pass);
    print_line(unfinished.empty() ? "finish with" : "when all have finished",
               merge_command_of(folder));
  }
  for (const auto& [name, value] : any.identity) {
    if (name == "analyses" || name == "version") print_line(name, value);
  }
}

/// The same for each run in the folder; runs have different numbers of shards.
void print_unfinished_runs(const std::string& path, const std::vector<std::string>& pass_files) {
  std::map<int, std::map<int, PassLabel>> last;  // by number of shards, then shard
  for (const std::string& file : pass_files) {
    const PassLabel label = read_pass_label(file);
    const auto [place, added] = last[label.n_shard].try_emplace(label.shard, label);
    if (!added && label.pass > place->second.pass) place->second = label;
  }
  for (const auto& entry : last) print_unfinished(path, entry.second);
}

/// The pairs of each task.
void print_tasks(const std::string& path, const TextOptions& reading) {
  const auto [tokenizer, name] = tokenizer_for_counting(reading);
  const TaskFiles files({path}, tokenizer, {.prepend_bos = reading.prepend_bos});
  print_heading(path, count_text(files.tasks().size(), "task"));
  const auto label = [](const Task& task) {
    constexpr std::size_t most = 40;
    return shortened(task.name, most);
  };
  std::size_t indent = 26;
  for (const Task& task : files.tasks()) indent = std::max(indent, label(task).size() + 4);
  print_line("tokenizer", name, indent);
  for (const Task& task : files.tasks()) {
    std::string text = count_text(task.pairs.size(), "pair");
    if (!task.relation.empty()) text += " about " + task.relation;
    if (task.n_same > 0) text += "; " + std::to_string(task.n_same) + " with equal sides left out";
    if (task.n_too_long > 0) text += "; " + std::to_string(task.n_too_long) + " too long";
    if (task.n_unpredicted > 0) {
      text += "; " + std::to_string(task.n_unpredicted) + " that differ at their first token";
    }
    if (task.n_copy > 0) text += "; " + std::to_string(task.n_copy) + " that repeat an earlier one";
    print_line(label(task), text, indent);
  }
}

/// The run's folder that holds a folder of saved passes; nothing if the folder is another one.
std::optional<std::string> run_of_passes(const std::string& path) {
  if (!fs::is_directory(path)) return std::nullopt;
  const fs::path folder = fs::canonical(path);
  const std::string run = folder.parent_path().string();
  if (folder.filename() != "shards" || find_pass_files(run).empty()) return std::nullopt;
  return run;
}

bool is_text_file(const fs::path& path) {
  const std::string extension = lower_ascii(path.extension().string());
  return extension == ".txt" || extension == ".conllu" || extension == ".conll" ||
         extension == ".gz";
}

bool is_text_corpus(const fs::path& path) {
  if (fs::is_directory(path)) {
    return !fs::exists(results_file(path.string())) && !model_file_in(path.string()) &&
           !fs::exists(path / "adapter_config.json");
  }
  return is_text_file(path);
}

/// Whether a path is a folder without a corpus, model or results.
bool is_folder_without_data(const fs::path& path) {
  if (!fs::is_directory(path) || !is_text_corpus(path)) return false;
  std::error_code ignored;
  return std::ranges::none_of(fs::directory_iterator(path, ignored), [](const auto& entry) {
    const fs::path file = entry.path().filename();
    return file.extension() == ".h5" || (is_text_file(file) && file != "merges.txt");
  });
}

bool is_tokenizer(const std::string& path) {
  return is_folder_without_data(path) && find_tokenizer_files(path).has_value();
}

/// Whether a path is a folder with the config of a model and no weights.
bool is_config_folder(const fs::path& path) {
  return is_folder_without_data(path) && fs::exists(path / config_name);
}

void print_tokenizer(const std::string& path) {
  const Tokenizer tokenizer = Tokenizer::from_directory(path);
  print_heading(path, "tokenizer");
  print_line("tokens", tokenizer.size());
  print_line("longest token", count_text(tokenizer.longest_token(), "byte"));
}

/// Whether a path is a file of pairs, or a folder that holds such files and no other corpus.
bool is_task_input(const fs::path& path) {
  if (!fs::is_directory(path)) return is_task_file(path.string());
  bool has_pairs = false;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    const fs::path& file = entry.path();
    if (is_text_file(file) || file.extension() == ".h5") return false;
    if (is_task_file(file.string())) has_pairs = true;
  }
  return has_pairs && is_text_corpus(path);
}

class InspectCommand : public Command {
 public:
  InspectCommand() {
    add_positional(options_, files_, "file", "FILE|DIR...", "a file");
    options_(reading_.tokenizer,
             {"tokenizer", "DIR",
              "folder with the tokenizer.json, or vocab.json and merges.txt, for counting the "
              "tokens of a corpus or tasks",
              "the tokenizer of the model in data/"});
    add_first_token(options_, FirstTokenOf::corpus, reading_.bos, reading_.prepend_bos);
    add_encoding(options_, encoding_);
    add_n_head(options_, n_head_);
    options_(with_arrays_, {"arrays", "", "list every array of a file, with shape and type"});
  }

  void run(const std::string& /*command_line*/) override {
    check_first_token(reading_);
    blas::set_thread_count(0);
    for (const std::string& path : files_) {
      const std::vector<std::string> passes = find_pass_files(path);
      if (!passes.empty() && !fs::exists(results_file(path))) {
        print_unfinished_runs(path, passes);
      } else if (const auto run = run_of_passes(path)) {
        print_heading(path, "saved passes of a run");
        print_line("the run", "headscope inspect " + shell_word(*run));
      } else if (is_task_input(path)) {
        print_tasks(path, reading_);
      } else if (is_config_folder(path)) {
        print_heading(path, "config of a model without weights");
        print_description((fs::path(path) / config_name).string(), n_head_, with_arrays_);
      } else if (is_tokenizer(path)) {
        print_tokenizer(path);
      } else if (is_text_corpus(path)) {
        print_corpus(path, reading_, encoding_);
      } else {
        const std::string results = results_file(path);
        print_description(fs::exists(results) ? results : path, n_head_, with_arrays_);
      }
    }
  }

 private:
  std::vector<std::string> files_;
  TextOptions reading_;
  std::string encoding_ = CorpusOptions().encoding;
  std::uint64_t n_head_ = 0;
  bool with_arrays_ = false;
};

}  // namespace

RegisteredCommand inspect_command() {
  return {"inspect",
          "show what a model, corpus, tokenizer, task or results file holds, or an unfinished run",
          std::make_unique<InspectCommand>,
          "Results",
          {"inspect gpt2.h5", "inspect out"}};
}

}  // namespace headscope
