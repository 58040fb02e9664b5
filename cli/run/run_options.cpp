#include "run/run_options.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "analysis.hpp"
#include "headscope/number_text.hpp"
#include "run/run_memory.hpp"

namespace headscope {
namespace {

using Words = std::vector<std::string>;

Words analysis_names() {
  Words names;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    names.push_back(analysis.info.name);
  }
  return names;
}

/// Sets the shard from `K/N`; false if it is not in that form.
bool read_shard(const std::string& text, RunOptions& run) {
  constexpr std::uint64_t most = 999'999;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto shard = parse_whole_number(text.substr(0, slash), most),
             n_shard = parse_whole_number(text.substr(std::min(slash + 1, text.size())), most);
  if (!shard || !n_shard || *shard < 1 || *shard > *n_shard) return false;
  run.shard = static_cast<int>(*shard);
  run.n_shard = static_cast<int>(*n_shard);
  return true;
}

std::string absolute_path(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

/// @param path_text  writes a path.
std::string json_of(const OptionTable& table, std::string (*path_text)(const std::string&)) {
  nlohmann::json json = nlohmann::json::object();
  for (const Option& option : table.options()) {
    Words words = option.words;
    if (option.path) std::transform(words.begin(), words.end(), words.begin(), path_text);
    if (option.is_switch()) {
      json[option.name] = option.given;
    } else if (option.several && option.given) {
      json[option.name] = words;
    } else if (!words.empty()) {
      json[option.name] = words.front();
    }
  }
  return json.dump();
}

}  // namespace

RunOptions::RunOptions() {
  using enum OptionScope;
  table.heading("Model");
  table(model, {.name = "model",
                .value = "FILE",
                .help = "tf_model.h5, flat HDF5 or safetensors, complete or attention weights only",
                .when_empty = "the small model in data/",
                .path = true,
                .in_usage = true,
                .scope = run});
  table(n_head, {.name = "n-head",
                 .value = "N",
                 .help = "heads per layer, for model files that do not say",
                 .when_empty = "d_model / 64"});
  table.heading("Corpus");
  table(corpus, {.name = "corpus",
                 .value = "PATH...",
                 .help = "plain text, CoNLL-U (named *.conllu) or token ids in HDF5, files or "
                         "folders",
                 .when_empty = "the stories in data/ with the default model; without a corpus only "
                               "weights are analysed",
                 .several = true,
                 .path = true,
                 .in_usage = true,
                 .scope = run});
  table(tokenizer, {.name = "tokenizer",
                    .value = "DIR",
                    .help = "folder with vocab.json and merges.txt",
                    .when_empty = "the model file's own",
                    .path = true,
                    .scope = run});
  table(prepend_bos, {.name = "no-bos", .help = "do not put <|endoftext|> before each document"});
  table(max_documents, {.name = "max-documents",
                        .value = "N",
                        .help = "documents of the corpus to use",
                        .when_empty = "all"});
  table.heading("Analyses");
  table(analyses, {.name = "analyses",
                   .value = "A,B",
                   .help = "which to run, separated by commas",
                   .when_empty = "all that model and corpus allow",
                   .choices = analysis_names(),
                   .scope = run});
  table(control,
        {.name = "control",
         .value = "KIND",
         .help = "none, or random: repeat the analyses that allow it on an untrained model "
                 "of the same shape",
         .choices = {"none", "random"}});
  settings.declare(table);
  table.heading("Output");
  table(output, {.name = "output",
                 .letter = 'o',
                 .value = "DIR",
                 .help = "where results.h5, tables, figures and the report go",
                 .required = "a folder for the results",
                 .path = true,
                 .scope = run});
  table(figures, {.name = "figures",
                  .value = "FORMATS",
                  .help = "svg, png, pdf, separated by commas; svg is always drawn, for the report",
                  .choices = {"svg", "png", "pdf"},
                  .scope = run});
  table.heading("Run");
  table(config, {.name = "config",
                 .value = "FILE",
                 .help = "read options from FILE, lines `name = value`; the command line wins",
                 .path = true,
                 .scope = process});
  table(threads, {.name = "threads",
                  .value = "N",
                  .help = "threads",
                  .when_empty = "all cores",
                  .most = 4096,
                  .scope = run});
  table.add({.name = "memory",
             .value = "SIZE",
             .help = "refuse, before the first document, a run that is expected to need more, such "
                     "as 900M or 8G",
             .when_empty = "not asked; `headscope inspect MODEL` lists what runs need",
             .scope = process},
            "a size such as 900M or 8G", [this](const std::string& text) {
              const auto bytes = parse_memory(text);
              memory = bytes.value_or(0);
              return bytes.has_value();
            });
  table.add({.name = "shard",
             .value = "K/N",
             .help = "run only documents K, K + N, K + 2 N ... of the corpus, K from 1 to N, for "
                     "`headscope merge`",
             .when_empty = "all documents",
             .scope = process},
            "K/N with K from 1 to N",
            [this](const std::string& text) { return read_shard(text, *this); });
  table(wait, {.name = "wait",
               .help = "wait for the other shards between passes, instead of stopping until run "
                       "again",
               .scope = process});
  table(resume, {.name = "resume",
                 .help = "go on where a run into the same folder was cut off",
                 .scope = process});
  table(save_every, {.name = "save-every",
                     .value = "N",
                     .help = "documents after which to save what a cut-off run resumes from",
                     .when_empty = "as often as takes about 1 % of the time",
                     .scope = process});
  table(quiet, {.name = "quiet", .letter = 'q', .help = "no progress on stderr", .scope = process});
}

std::string RunOptions::as_json() const {
  return json_of(table, [](const std::string& path) { return path; });
}

std::string RunOptions::with_absolute_paths() const {
  return json_of(table, absolute_path);
}

void RunOptions::restore(const std::string& json) {
  const nlohmann::json stored = nlohmann::json::parse(json);
  for (const auto& [name, value] : stored.items()) {
    Option& option = table.at(name);
    if (option.scope == OptionScope::process || value == false) continue;
    if (value.is_array()) {
      option.set(value.get<Words>());
    } else {
      option.set({value.is_string() ? value.get<std::string>() : "true"});
    }
  }
}

}  // namespace headscope
