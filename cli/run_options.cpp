#include "run_options.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "headscope/blas.hpp"
#include "headscope/provenance.hpp"
#include "registry.hpp"
#include "run/engine_record.hpp"
#include "shared_options.hpp"
#include "shell_text.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

using Words = Option::Words;

constexpr const char* engines_key = "engines";  // no option has this name

Words analysis_names() {
  Words names;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    names.push_back(analysis.info.name);
  }
  return names;
}

std::string absolute_path(const std::string& path) {
  const fs::path absolute = fs::absolute(path);
  if (std::ranges::count(absolute, fs::path("..")) == 0)
    return absolute.lexically_normal().string();
  // After a link `..` is the folder above its target. The last name may be a link whose target has
  // another ending.
  if (absolute.filename() == "..") return fs::weakly_canonical(absolute).string();
  return (fs::weakly_canonical(absolute.parent_path()) / absolute.filename()).string();
}

/// Text that is not UTF-8, which JSON cannot hold, as its bytes.
nlohmann::json exact_json(const std::string& word) {
  if (utf8::valid_prefix(word) == word.size()) return word;
  return nlohmann::json::binary({word.begin(), word.end()});
}

/// Inverse of exact_json, after writing and parsing.
std::string exact_word(const nlohmann::json& json) {
  if (!json.is_object()) return json.get<std::string>();
  const auto bytes = json.at("bytes").get<std::vector<unsigned char>>();
  return {bytes.begin(), bytes.end()};
}

/// @param word_json  turns a word of an option into JSON.
nlohmann::json json_of(const OptionTable& table,
                       nlohmann::json (*word_json)(const Option& option, const std::string& word)) {
  nlohmann::json json = nlohmann::json::object();
  for (const Option& option : table.options()) {
    if (option.is_switch()) {
      json[option.name] = option.given;
    } else if (option.several && option.given) {
      nlohmann::json& list = json[option.name] = nlohmann::json::array();
      for (const std::string& word : option.words) list.push_back(word_json(option, word));
    } else if (!option.words.empty()) {
      json[option.name] = word_json(option, option.words.front());
    }
  }
  return json;
}

}  // namespace

RunOptions::RunOptions() {
  using enum OptionScope;
  table.heading("Model");
  add_model(table, model,
            "tf_model.h5, flat HDF5 or safetensors, complete or attention weights only; or a "
            "folder as on the Hugging Face hub");
  add_n_head(table, n_head);
  table.heading("Corpus");
  Option& paths = table(
      corpus, {"corpus", "PATH...",
               "files or folders: plain text, CoNLL-U (named *.conllu or *.conll) or token ids in "
               "HDF5; also compressed (*.gz)",
               "the stories in data/ with the default model; without a corpus only weights are "
               "analysed",
               run});
  paths.several = paths.in_usage = true;
  add_tokenizer(table, reading.tokenizer);
  add_encoding(table, documents.encoding);
  add_first_token(table, FirstTokenOf::corpus, reading.bos, reading.prepend_bos);
  table(documents.literal_special_tokens,
        {"literal-special-tokens", "",
         "read <|endoftext|> in plain text as letters, not as the end of a document. Use it for "
         "texts about tokenizers"});
  table(context,
        {"context", "N",
         "largest number of tokens per forward pass; longer documents are cut at sentence ends. "
         "Lower it when attention takes too much time or memory: both grow with the square of N",
         "the smaller of the model's context and " + grouped(default_context)});
  table(documents.document_sentences,
        {"document-sentences", "K",
         "sentences per document in CoNLL-U files without `# newdoc`. Set it for such files: "
         "intervals resample documents",
         "all sentences are one document"});
  table(documents.max_documents,
        {"max-documents", "N", "number of documents of the corpus to use; few for a quick look",
         "all"});
  table.heading("Tasks");
  Option& task_files = table(
      tasks,
      {"tasks", "FILE...",
       "files of minimal pairs, a line of JSON each: sentence_good, sentence_bad (BLiMP's form) or "
       "prefix, good, bad; optionally task and relation (the UD relation that the task is about)",
       "the tasks in data/ with the default model", run});
  task_files.several = task_files.in_usage = true;
  table(max_pairs,
        {"task-pairs", "N", "number of pairs of each task to use; few for a quick look", "all"});
  table.heading("Analyses");
  table(analyses, {"analyses", "A,B", "analyses to run, separated by commas",
                   "all that model, corpus and tasks allow", run})
      .choices = analysis_names();
  table(control, {"control", "KIND",
                  "none, or random: repeat the analyses that support it on five untrained models "
                  "of the same shape, and classification also on five models with permuted "
                  "weights. Use random to see what training changed"})
      .choices = {"none", "random"};
  table(control_documents, {"control-documents", "N",
                            "documents that each control model reads, spread evenly over the "
                            "corpus in random pairs of an even and an odd one: an odd N takes one "
                            "more",
                            "all"});
  settings.declare(table, analysis_registry());
  table.heading("Output");
  add_output(table, output.folder);
  add_figures(table, output.figures);
  table.heading("Run");
  table(config, {"config", "FILE",
                 "read options from FILE, lines `name = value`; the command line takes precedence",
                 "", process});
  add_threads(table, threads);
  table
      .add({"memory", "SIZE",
            "memory limit, such as 900M or 8G; a run with a higher estimate is refused before the "
            "first document. Set it on a shared machine",
            "no limit; `headscope inspect MODEL` prints the estimates", process})
      .store = [this](const Option& option, const Words& words) {
    const auto bytes = parse_memory(words.front());
    if (!bytes) option.refuse("a size such as 900M or 8G,", words.front());
    memory = *bytes;
  };
  table
      .add({"shard", "K/N",
            "run only documents K, K + N, K + 2 N ... of the corpus, K from 1 to N, N at least 2. "
            "Use it to share a corpus among N processes; `headscope merge` combines their shards",
            "all documents", process})
      .store = [this](const Option& option, const Words& words) {
    if (read_shard(words.front())) return;
    option.refuse("K/N with N of at least 2 and K from 1 to N (a run without --shard is whole),",
                  words.front());
  };
  table(files.wait,
        {"wait", "",
         "wait for the other shards between passes instead of stopping. Use it when all shards "
         "run at once",
         "", process});
  table(files.resume,
        {"resume", "",
         "continue an interrupted run in the same folder; give none of its options again, or all "
         "of them. With all of them the run begins where nothing was saved",
         "", process});
  add_force(table, force);
  table(files.mixed,
        {"mixed", "",
         "accept sums that another OpenBLAS kernel, processor or number of threads made. Use it "
         "when shards ran on different machines; results then differ in their last bits",
         "", process});
  table(files.save_every, {"save-every", "N", "save the state for --resume after every N documents",
                           "so often that saving takes about 1 % of the time", process});
  add_quiet(table, output.quiet);
}

bool RunOptions::read_shard(const std::string& text) {
  constexpr std::uint64_t most = 999'999;
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return false;
  const auto number = parse_whole_number(text.substr(0, slash), most),
             count = parse_whole_number(text.substr(slash + 1), most);
  if (!number || !count || *number < 1 || *count < 2 || *number > *count) return false;
  files.shard = static_cast<int>(*number);
  files.n_shard = static_cast<int>(*count);
  return true;
}

RunFiles RunOptions::run_files() const {
  RunFiles all = files;
  all.output = output.folder;
  all.options = for_merging();
  return all;
}

std::string RunOptions::resume_command() const {
  return command_line + (files.resume ? "" : " --resume");
}

std::string RunOptions::as_json() const {
  const auto readable = [](const Option&, const std::string& word) -> nlohmann::json {
    return recorded_text(word);
  };
  return json_of(table, readable).dump();
}

std::string RunOptions::for_merging() const {
  nlohmann::json json = json_of(table, [](const Option& option, const std::string& word) {
    return exact_json(option.is_path() ? absolute_path(word) : word);
  });
  json["threads"] = std::to_string(blas::thread_count());
  json[engines_key] = engines_json(settings.engines);
  return json.dump();
}

void RunOptions::check() const {
  const auto option = [&](const char* name) -> const Option& {
    return *std::ranges::find(table.options(), name, &Option::name);
  };
  check_first_token(reading);
  for (const auto& [first, second] :
       {std::pair{"control-documents", "control"}, std::pair{"wait", "shard"}}) {
    if (!option(first).given || option(second).given) continue;
    throw UsageError(std::string("--") + first + ": expected together with --" + second +
                     ", got no --" + second);
  }
  const auto number = [&](const char* name) {
    return parse_whole_number(option(name).words.front()).value_or(0);
  };
  const std::uint64_t used = number("prune-documents"), ablated = number("ablate-documents");
  if (used > 0 && ablated > used) {
    throw UsageError("--ablate-documents: expected at most " + std::to_string(used) +
                     ", the value of --prune-documents, got " + std::to_string(ablated));
  }
}

bool RunOptions::has_option_of_all_shards() const {
  return std::ranges::any_of(table.options(), [](const Option& option) {
    return option.given && option.scope != OptionScope::process && option.name != "output";
  });
}

std::string RunOptions::missing_input(const std::string& json) const {
  const nlohmann::json stored = nlohmann::json::parse(json, nullptr, false);
  for (const Option& option : table.options()) {
    const bool can_lack = option.is_path() && option.scope != OptionScope::process && !option.given;
    if (can_lack && stored.contains(option.name)) return option.name;
  }
  return "";
}

void RunOptions::restore(const std::string& json, const std::string& path) try {
  const auto stored = nlohmann::json::parse(json).get<std::map<std::string, nlohmann::json>>();
  restored_from = path;
  for (const auto& [name, value] : stored) {
    if (name == engines_key) {
      settings.engines = engines_from_json(value, path);
      continue;
    }
    Option& option = table.at(name);
    if (option.scope == OptionScope::process || value == false) continue;
    if (value.is_boolean()) {
      option.set({"true"});
    } else if (value.is_array()) {
      Words words;
      for (const nlohmann::json& word : value) words.push_back(exact_word(word));
      option.set(words);
    } else {
      option.set({exact_word(value)});
    }
  }
} catch (const nlohmann::json::exception&) {
  throw DataError(path, "", "expected the options of a run, got other text");
}

std::string sha256_attribute(const Option& option) {
  return plain_name(option.name, '_') + "_sha256";
}

std::map<std::string, std::string> recorded_settings(const Results& results) {
  constexpr std::size_t n_digit = 12;
  const nlohmann::json stored = nlohmann::json::parse(results.text("options"), nullptr, false);
  if (!stored.is_object()) return {};
  std::map<std::string, std::string> settings;
  const RunOptions options;
  for (const Option& option : options.table.options()) {
    const auto value = stored.find(option.name);
    if (option.scope != OptionScope::numbers || value == stored.end() || *value == false) continue;
    const std::string sha256 = results.text(sha256_attribute(option));
    settings[option.name] = "--" + option.name;
    if (!sha256.empty()) {
      settings[option.name] += " of SHA-256 " + one_line(sha256.substr(0, n_digit));
    } else if (value->is_string()) {
      settings[option.name] += " " + one_line(value->get<std::string>());
    }
  }
  return settings;
}

std::set<std::string> idle_options(const Results& results) {
  std::set<std::string> idle;
  const RunOptions options;
  for (const Option& option : options.table.options()) {
    if (!option.analysis.empty() && !results.has(option.analysis)) idle.insert(option.name);
  }
  if (!results.integer("n_control")) idle.insert("control-documents");
  return idle;
}

std::string resume_command_of(const std::string& folder, int shard, int n_shard) {
  std::string text = "headscope run --output " + shell_word(folder);
  if (n_shard > 1) text += " --shard " + std::to_string(shard) + "/" + std::to_string(n_shard);
  return text + " --resume";
}

std::string merge_command_of(const PassFolder& folder) {
  return "headscope merge " + shell_word(folder.folder()) + folder.pattern() + " --output DIR";
}

Error with_advice(const RunError& error, const RunOptions& options) {
  const auto advice = [&]() -> std::string {
    switch (error.obstacle()) {
      case RunObstacle::unfinished:
        return "; continue it with --resume, or remove it to begin again";
      case RunObstacle::other_arithmetic:
        return ": set OPENBLAS_CORETYPE and --threads alike, or allow it with --mixed";
      case RunObstacle::abandoned_shard:
        break;
    }
    return "; continue it with `" +
           resume_command_of(options.output.folder, error.shard(), options.files.n_shard) +
           "`, then this shard with `" + options.resume_command() + "`";
  };
  return Error(error.what() + advice());
}

}  // namespace headscope
