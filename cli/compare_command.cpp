#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "commands.hpp"
#include "headscope/comparison.hpp"
#include "headscope/error.hpp"
#include "headscope/output_lock.hpp"
#include "headscope/provenance.hpp"
#include "registry.hpp"
#include "run_options.hpp"
#include "run_output.hpp"
#include "shared_options.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

/// The folder of a results file.
fs::path folder_of(const std::string& file) {
  return fs::weakly_canonical(fs::absolute(file)).parent_path();
}

/// The names of the folders; where one is not enough, the paths as given, numbered where even
/// these are the same.
std::vector<std::string> labels_of(const std::vector<std::string>& runs) {
  std::vector<std::string> names, labels;
  for (const std::string& run : runs) {
    names.push_back(one_line(folder_of(results_file(run)).filename().string()));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::string label = std::ranges::count(names, names[i]) > 1 ? one_line(runs[i]) : names[i];
    const auto n_same =
        std::count(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(i), runs[i]);
    if (n_same > 0) label += " (" + std::to_string(n_same + 1) + ")";
    labels.push_back(std::move(label));
  }
  return labels;
}

std::optional<double> parse_number(const std::string& text) {
  std::size_t end = 0;
  try {
    const double number = std::stod(text, &end);
    if (end == text.size() && std::isfinite(number)) return number;
  } catch (const std::logic_error&) {
  }
  return std::nullopt;
}

/// What results state of their models.
constexpr std::array model_sizes{"n_layer", "n_head", "n_kv_head", "d_model",
                                 "d_head",  "d_mlp",  "n_ctx",     "d_vocab"};

class CompareCommand : public Command {
 public:
  CompareCommand() {
    add_positional(options_, runs_, "run", "RUN...", "two or more finished runs");
    options_.heading("Runs");
    options_(labels_, {"label", "NAME...", "a label for each run, in the order of the runs",
                       "the names of the runs' folders"})
        .several = true;
    options_(by_, {"by", "NAME",
                   "order the runs by a size of their models: " + joined(model_sizes, ", ") +
                       ". With any other NAME the labels must be numbers: the values of NAME",
                   "as given"});
    options_.heading("Output");
    add_output(options_, output_.folder);
    add_figures(options_, output_.figures);
    add_force(options_, force_);
    add_quiet(options_, output_.quiet);
  }

  void run(const std::string& command_line) override {
    if (runs_.size() < 2) {
      throw UsageError("compare: expected at least 2 runs, got " + std::to_string(runs_.size()));
    }
    check_output_folder(output_.folder);
    std::vector<ComparedRun> runs = read_runs();
    if (!force_) refuse_replacement(output_.folder);
    order(runs);
    Comparison comparison =
        compare_runs(runs, by_.empty() ? command_line_order : by_, run_presentations());
    if (!output_.quiet) {
      for (const std::string& note : comparison.notes) {
        std::cerr << Terminal::error().warning(one_line(note));
      }
    }
    Results results;
    add_program(results, "Comparison of " + enumeration(runs, &ComparedRun::label));
    results.attributes["command_line"] = recorded_text(command_line);
    results.groups.push_back(std::move(comparison.group));
    const OutputLock lock(output_.folder);
    announce_output(output_);
    Progress progress(output_.quiet);
    write_run(results, output_, progress);
  }

 private:
  std::vector<ComparedRun> read_runs() {
    if (labels_.empty()) labels_ = labels_of(runs_);
    if (labels_.size() != runs_.size()) {
      throw OptionError("--label", "expected " + std::to_string(runs_.size()) +
                                       " labels, one for each run, got " +
                                       std::to_string(labels_.size()));
    }
    std::set<std::string> different;
    for (const std::string& label : labels_) {
      if (different.insert(label).second) continue;
      throw OptionError("--label",
                        "expected a different label for each run, got \"" + label + "\" twice");
    }
    const fs::path output = fs::weakly_canonical(fs::absolute(output_.folder));
    std::vector<ComparedRun> runs;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const std::string file = results_file(runs_[i]);
      const fs::path folder = folder_of(file);
      std::error_code ignored;
      if (fs::equivalent(folder, output, ignored)) {
        throw OptionError("--output", "expected another folder than that of a run, got \"" +
                                          output_.folder + "\"");
      }
      ComparedRun& run = runs.emplace_back(read_compared_run(file, run_presentations()));
      run.label = one_line(labels_[i]);
      run.settings = recorded_settings(run.results);
      run.idle_options = idle_options(run.results);
      if (fs::exists(folder / "report.html")) {
        run.report = (folder / "report.html").lexically_relative(output).string();
      }
    }
    return runs;
  }

  /// Sorts the runs by the number of each model that --by names, or else by their labels; without
  /// --by they stay as given.
  void order(std::vector<ComparedRun>& runs) const {
    for (std::size_t i = 0; i < runs.size(); ++i) runs[i].place = static_cast<double>(i);
    if (by_.empty()) return;
    const bool is_size = std::ranges::count(model_sizes, by_) > 0;
    for (ComparedRun& run : runs) {
      std::optional<double> place;
      if (is_size) place = run.results.integer(by_);
      if (!place) place = parse_number(run.label);
      if (!place) {
        throw OptionError(
            "--by", "expected a number " +
                        (is_size ? "that " + run.path + " states as \"" + by_ + "\" or " : "") +
                        "as the label of " + run.path + ", got \"" + run.label + "\"");
      }
      run.place = *place;
    }
    std::ranges::stable_sort(runs, {}, &ComparedRun::place);
  }

  std::vector<std::string> runs_, labels_;
  std::string by_;
  OutputOptions output_;
  bool force_ = false;
};

}  // namespace

RegisteredCommand compare_command() {
  return {"compare",
          "set several finished runs side by side",
          std::make_unique<CompareCommand>,
          "Results",
          {"compare whole pruned --output comparison",
           "compare step0 step10 step100 --label 0 10 100 --by step -o series"}};
}

}  // namespace headscope
