#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "headscope/error.hpp"
#include "run.hpp"
#include "run_results.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

/// The pass files named, or lying in the folders named (or in their folder `shards`), sorted.
std::vector<std::string> pass_file_paths(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      paths.push_back(argument);
      continue;
    }
    const fs::path below = fs::path(argument) / "shards";
    const std::size_t n_before = paths.size();
    for (const auto& entry :
         fs::directory_iterator(fs::is_directory(below) ? below : fs::path(argument))) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".h5" && name.find("-of-") != std::string::npos) {
        paths.push_back(entry.path().string());
      }
    }
    if (paths.size() == n_before) {
      throw DataError(argument, "", "expected shards (files K-of-N.pass-P.h5), got none");
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// All pass files of a run, each found once, of one identity.
class ShardTable {
 public:
  explicit ShardTable(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      PassLabel label = read_pass_label(path);
      if (paths_.empty()) first_ = label;
      check_identity(first_.identity, label.identity, path);
      check_same(path, "shards", first_.n_shard, label.n_shard);
      check_same(path, "passes", first_.n_pass, label.n_pass);
      const auto [place, is_new] = paths_.try_emplace({label.pass, label.shard}, path);
      if (!is_new) {
        throw DataError(path, "",
                        "expected each shard once, got " + text(label.pass, label.shard) +
                            " here and in " + place->second);
      }
    }
    std::string missing;
    for (int pass = 1; pass <= first_.n_pass; ++pass) {
      for (int shard = 1; shard <= first_.n_shard; ++shard) {
        if (paths_.count({pass, shard}) > 0) continue;
        missing += (missing.empty() ? "" : ", ") + text(pass, shard);
      }
    }
    if (!missing.empty()) {
      throw DataError(fs::path(paths.front()).parent_path().string(), "",
                      "expected every pass of " + std::to_string(first_.n_shard) +
                          " shards, missing " + missing);
    }
  }

  const PassLabel& first() const { return first_; }

  /// Adds the shards' statistics of a model's passes, in shard order.
  void merge_into(CorpusRun& corpus_run, int first_pass) const {
    for (int pass = first_pass; pass < first_pass + corpus_run.n_pass(); ++pass) {
      for (int shard = 1; shard <= first_.n_shard; ++shard) {
        corpus_run.merge(read_pass_file(paths_.at({pass, shard})).statistics);
      }
    }
  }

 private:
  std::string text(int pass, int shard) const {
    return "pass " + std::to_string(pass) + " of shard " + std::to_string(shard);
  }

  static void check_same(const std::string& path, const char* name, int expected, int got) {
    if (expected == got) return;
    throw DataError(path, name,
                    "expected " + std::to_string(expected) + ", got " + std::to_string(got));
  }

  PassLabel first_;
  std::map<std::pair<int, int>, std::string> paths_;  // by pass and shard
};

}  // namespace

void merge_command(const Arguments& arguments) {
  po::options_description options;
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  options.add_options()("shard", po::value<std::vector<std::string>>(), "")(
      "output,o", text("DIR"), "where results.h5, tables, figures and the report go (required)")(
      "model", text("FILE"), "where the model is now (default: where the shards had it)")(
      "corpus", po::value<std::vector<std::string>>()->multitoken()->value_name("PATH..."),
      "where the corpus is now (default: where the shards had it)")(
      "tokenizer", text("DIR"), "where the tokenizer is now (default: where the shards had it)")(
      "threads", text("N"), "threads (0: all cores; default: as the shards)")(
      "figures", text("FORMATS"), "svg, png, pdf, separated by commas (default: as the shards)")(
      "quiet,q", po::bool_switch(), "no progress on stderr");
  po::variables_map values;
  if (!parse_arguments(arguments, "merge SHARD... --output DIR [OPTION...]", options, {"shard"},
                       true, values)) {
    return;
  }
  if (values.count("shard") == 0) throw UsageError("merge: expected shards, got none");
  if (values.count("output") == 0)
    throw UsageError("--output: expected a folder for the results, got none");

  const std::vector<std::string> paths =
      pass_file_paths(values["shard"].as<std::vector<std::string>>());
  const ShardTable shards(paths);
  std::map<std::string, std::vector<std::string>> changed;
  for (const char* name : {"output", "model", "tokenizer", "threads", "figures"}) {
    if (values.count(name) > 0) changed[name] = {values[name].as<std::string>()};
  }
  if (values.count("corpus") > 0) changed["corpus"] = values["corpus"].as<std::vector<std::string>>();
  RunOptions run = stored_run_options(shards.first().options, changed);
  run.quiet = values["quiet"].as<bool>();
  run.command_line = "headscope merge";
  for (const std::string& argument : arguments) run.command_line += " " + argument;

  const RunSetup setup(run);
  check_identity(run_identity(setup), shards.first().identity, paths.front());
  CorpusRun trained(setup.analyses(), {setup.model(), setup.corpus(), run.settings});
  shards.merge_into(trained, 1);
  std::unique_ptr<ControlRun> control;
  if (!setup.controlled_analyses().empty()) {
    control = std::make_unique<ControlRun>(setup);
    shards.merge_into(control->corpus_run(), 1 + trained.n_pass());
  }
  write_run(finish_results(setup, trained, control ? &control->corpus_run() : nullptr), run);
}

}  // namespace headscope
