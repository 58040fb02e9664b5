#include "run_options.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "headscope/error.hpp"
#include "option_values.hpp"
#include "run/run_memory.hpp"

namespace headscope {
namespace {

template <typename T>
nlohmann::json json_of(const boost::any& value, bool& known) {
  const T* typed = boost::any_cast<T>(&value);
  if (typed == nullptr) return nullptr;
  known = true;
  return *typed;
}

/// Every option with its value, for the results file.
std::string options_as_json(const po::variables_map& values) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, variable] : values) {
    const boost::any& value = variable.value();
    bool known = false;
    for (const auto& read : {json_of<std::string>, json_of<std::vector<std::string>>, json_of<bool>,
                             json_of<int>, json_of<std::uint64_t>}) {
      const nlohmann::json read_value = read(value, known);
      if (!known) continue;
      json[name] = read_value;
      break;
    }
  }
  return json.dump();
}

po::options_description describe_options() {
  po::options_description options;
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("model", text("FILE"),
                        "tf_model.h5, flat HDF5 or safetensors, complete or attention weights only "
                        "(default: the small model in data/)");
  add_n_head_option(options);
  options.add_options()(
      "corpus", po::value<std::vector<std::string>>()->multitoken()->value_name("PATH..."),
      "plain text, CoNLL-U (named *.conllu) or token ids in HDF5, files or folders (default: the "
      "stories in data/ with the default model; without a corpus only weights are analysed)")(
      "tokenizer", text("DIR"),
      "folder with vocab.json and merges.txt (default: the model file's own)")(
      "analyses", text("A,B"),
      "which to run, separated by commas (default: all that model and corpus allow)")(
      "output,o", text("DIR"), "where results.h5, tables, figures and the report go (required)")(
      "control", po::value<std::string>()->default_value("none")->value_name("KIND"),
      "none, or random: repeat the analyses that allow it on an untrained model of the same shape "
      "(default none)")("config", text("FILE"),
                        "read options from FILE, lines `name = value`; the command line wins")(
      "no-bos", po::bool_switch(), "do not put <|endoftext|> before each document")(
      "max-documents", whole_number("0"), "documents of the corpus to use (default 0: all)")(
      "prune-documents", whole_number("32"),
      "documents the pruning analysis uses, since it costs a pass per head (0: all; default 32)")(
      "patterns", whole_number("3"), "documents whose attention patterns are kept (default 3)")(
      "pattern-tokens", whole_number("128"),
      "tokens kept of each document's patterns, from its beginning (0: all; default 128)")(
      "js-queries", whole_number("256"),
      "queries sampled from the corpus for the distances between all pairs of heads' attention, "
      "(n_layer n_head)^2 / 2 comparisons of keys for each (0: leave them out; default 256)")(
      "no-cosine-all", po::bool_switch(),
      "leave out the cosines between heads of different layers; they cost (n_layer n_head)^2 "
      "d_model multiply-adds per token, an eighth of a forward pass for GPT-2 small, 1.5 for XL")(
      "bootstrap", whole_number("1000"),
      "resamples of documents behind each interval, none if fewer than 20 (default 1000)")(
      "nulls", whole_number("100"),
      "random draws behind each null of the weights-only analyses (default 100)")(
      "no-fold", po::bool_switch(),
      "circuits: leave the weights raw, without folding LayerNorm in")(
      "seed", whole_number("0"), "seed of everything random (default 0)")(
      "threads", whole_number("0"), "threads (default 0: all cores)")(
      "memory", text("SIZE"),
      "refuse, before the first document, a run that is expected to need more, such as 900M or 8G "
      "(default: not asked; `headscope inspect MODEL` lists what runs need)");
  add_figures_option(options);
  options.add_options()("shard", text("K/N"),
                        "run only documents K, K + N, K + 2 N ... of the corpus, K from 1 to N, "
                        "for `headscope merge` (default 1/1: all)")(
      "wait", po::bool_switch(),
      "wait for the other shards between passes, instead of stopping until run again")(
      "resume", po::bool_switch(), "go on where a run into the same folder was cut off")(
      "save-every", whole_number("0"),
      "documents after which to save what a cut-off run resumes from (0: as often as takes about "
      "1 % of the time; default 0)")("quiet,q", po::bool_switch(), "no progress on stderr");
  return options;
}

/// The `--config` file's values, for options the command line left open.
void read_config_file(const std::string& path, const po::options_description& options,
                      po::variables_map& values) {
  if (std::filesystem::is_directory(path)) {
    throw DataError(path, "", "expected a file of options, got a folder");
  }
  std::ifstream file(path);
  if (!file) throw DataError(path, "", "cannot be read");
  try {
    po::store(po::parse_config_file(file, options), values);
  } catch (const po::error& error) {
    throw UsageError(path + ": " + error.what());
  }
}

std::vector<std::string> analysis_names() {
  std::vector<std::string> names;
  for (const RegisteredAnalysis& analysis : analysis_registry())
    names.push_back(analysis.info.name);
  return names;
}

/// Sets the shard from `K/N`.
void read_shard(const std::string& text, RunOptions& run) {
  int shard = 0, n_shard = 0, end = -1;
  const bool read = text.size() <= 15 && text.find_first_not_of("0123456789/") == text.npos &&
                    std::sscanf(text.c_str(), "%6d/%6d%n", &shard, &n_shard, &end) == 2 &&
                    static_cast<std::size_t>(end) == text.size();
  if (!read || shard < 1 || shard > n_shard) {
    throw UsageError("--shard: expected K/N with K from 1 to N, got \"" + text + "\"");
  }
  run.shard = shard;
  run.n_shard = n_shard;
}

}  // namespace

std::optional<RunOptions> parse_run_options(const std::vector<std::string>& arguments) {
  const po::options_description options = describe_options();
  po::variables_map values;
  if (!parse_arguments(arguments, "run [--model M] [--corpus C...] --output DIR [OPTION...]",
                       options, {}, false, values)) {
    return std::nullopt;
  }
  if (values.count("config") > 0)
    read_config_file(values["config"].as<std::string>(), options, values);

  const auto text = [&](const char* name) {
    return values.count(name) > 0 ? values[name].as<std::string>() : std::string();
  };
  RunOptions run;
  run.model = text("model");
  run.n_head = read_n_head(values);
  if (values.count("corpus") > 0) run.corpus = values["corpus"].as<std::vector<std::string>>();
  run.tokenizer = text("tokenizer");
  if (values.count("analyses") > 0) run.analyses = read_list(text("analyses"), "analyses");
  for (const std::string& name : run.analyses) check_known("analyses", name, analysis_names());
  run.output = text("output");
  if (run.output.empty()) throw UsageError("--output: expected a folder for the results, got none");
  check_known("control", text("control"), {"none", "random"});
  run.random_control = text("control") == "random";
  run.prepend_bos = !values["no-bos"].as<bool>();
  run.max_documents = read_whole_number(values, "max-documents");
  const std::uint64_t threads = read_whole_number(values, "threads");
  if (threads > 4096)
    throw UsageError("--threads: expected at most 4096, got " + std::to_string(threads));
  run.threads = static_cast<int>(threads);
  if (values.count("memory") > 0) run.memory = parse_memory(text("memory"));
  run.figure_formats = read_figure_formats(text("figures"));
  if (values.count("shard") > 0) read_shard(text("shard"), run);
  run.wait = values["wait"].as<bool>();
  run.resume = values["resume"].as<bool>();
  run.save_every = read_whole_number(values, "save-every");
  run.quiet = values["quiet"].as<bool>();

  AnalysisSettings& settings = run.settings;
  settings.seed = read_whole_number(values, "seed");
  settings.n_bootstrap = read_whole_number(values, "bootstrap");
  settings.fold_layer_norm = !values["no-fold"].as<bool>();
  settings.n_null = read_whole_number(values, "nulls");
  settings.js_queries = read_whole_number(values, "js-queries");
  settings.cosine_all = !values["no-cosine-all"].as<bool>();
  settings.prune_documents = read_whole_number(values, "prune-documents");
  settings.n_pattern_documents = read_whole_number(values, "patterns");
  settings.n_pattern_tokens = read_whole_number(values, "pattern-tokens");

  run.command_line = command_line_text("run", arguments);
  run.as_json = options_as_json(values);
  return run;
}

std::string RunOptions::with_absolute_paths() const {
  nlohmann::json json = nlohmann::json::parse(as_json);
  const auto absolute = [](const nlohmann::json& path) {
    return std::filesystem::absolute(path.get<std::string>()).lexically_normal().string();
  };
  for (const char* name : {"model", "tokenizer"}) {
    if (json.contains(name)) json[name] = absolute(json[name]);
  }
  if (json.contains("corpus")) {
    for (nlohmann::json& path : json["corpus"]) path = absolute(path);
  }
  return json.dump();
}

RunOptions stored_run_options(const std::string& json,
                              const std::map<std::string, std::vector<std::string>>& changed) {
  std::map<std::string, std::vector<std::string>> values;
  const nlohmann::json stored = nlohmann::json::parse(json);
  for (const auto& [name, value] : stored.items()) {
    if (value.is_array()) {
      values[name] = value.get<std::vector<std::string>>();
    } else if (value.is_string()) {
      values[name] = {value.get<std::string>()};
    } else if (value == true) {
      values[name] = {};
    }
  }
  for (const char* name : {"shard", "wait", "resume", "config", "memory"}) values.erase(name);
  for (const auto& [name, value] : changed) values[name] = value;
  std::vector<std::string> arguments;
  for (const auto& [name, value] : values) {
    arguments.push_back("--" + name);
    arguments.insert(arguments.end(), value.begin(), value.end());
  }
  return *parse_run_options(arguments);
}

}  // namespace headscope
