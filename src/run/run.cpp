#include "headscope/run.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "base/text.hpp"
#include "compute/product/kernel.hpp"
#include "headscope/random.hpp"
#include "headscope/version.hpp"
#include "model/config_fields.hpp"
#include "run/model_run.hpp"
#include "run/plan.hpp"
#include "run/run_results.hpp"

namespace headscope {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Decides when to save: every N documents, or so often that it takes about 1 % of the time.
class SaveTimer {
 public:
  explicit SaveTimer(std::uint64_t every) : every_(every) {}

  /// Called after each piece.
  bool is_due(bool ends_document) {
    if (ends_document) ++n_document_;
    if (every_ > 0) return n_document_ >= every_;
    return Clock::now() - saved_ > std::max(Seconds(30), 100 * cost_);
  }

  template <typename Save>
  void save(const Save& save_now) {
    const auto begin = Clock::now();
    save_now();
    saved_ = Clock::now();
    cost_ = saved_ - begin;
    n_document_ = 0;
  }

 private:
  std::uint64_t every_;
  std::uint64_t n_document_ = 0;
  Clock::time_point saved_ = Clock::now();
  Seconds cost_{0};
};

/// The items of a pass that the shard takes.
std::vector<std::uint64_t> items_of(const RunFiles& files, const Pass& pass,
                                    const ModelRun& model) {
  std::vector<std::uint64_t> items;
  const auto first = static_cast<std::uint64_t>(files.shard - 1),
             step = static_cast<std::uint64_t>(files.n_shard);
  for (std::uint64_t item = first; item < model.n_item(pass); item += step) {
    items.push_back(item);
  }
  return items;
}

double cost_of(const RunFiles& files, const Pass& pass, const ModelRun& model) {
  double cost = 0;
  for (const std::uint64_t item : items_of(files, pass, model)) {
    for (std::uint64_t i = model.n_piece(pass, item); i > 0; --i) cost += model.cost(pass, item);
  }
  return cost;
}

std::string shard_list(const std::vector<int>& shards) {
  return joined(shards, ", ", [](int shard) { return std::to_string(shard); });
}

/// A label of the run's pass files, of the first shard and pass.
PassLabel label_of(const RunInput& input, const RunFiles& files) {
  PassLabel label;
  label.identity = input.identity;
  label.identity["version"] = version() + " " + git_commit();
  const AnalysisContext& context = input.context;
  label.identity["model SHA-256"] = context.model.sha256;
  label.identity["model config SHA-256"] = config_sha256(context.model.config);
  if (context.corpus != nullptr) {
    label.identity["corpus SHA-256"] = context.corpus->sha256();
    label.identity["corpus layout SHA-256"] = context.corpus->layout_sha256();
  }
  if (context.tasks != nullptr) label.identity["tasks SHA-256"] = context.tasks->sha256();
  label.identity["analyses"] = joined(
      input.analyses, ",", [](const RegisteredAnalysis* analysis) { return analysis->info.name; });
  const Engines& engines = context.settings.engines;
  label.arithmetic = {blas::arithmetic_in_use(
      {engines.differences, engines.passes, engines.logits, engines.gradients})};
  label.mixed = files.mixed;
  label.shard = files.shard;
  label.n_shard = files.n_shard;
  label.n_pass = static_cast<int>(plan_passes(input).size());
  label.options = files.options;
  return label;
}

/// @param number  of the control, from 1.
Model control_model(const RunInput& input, int number) {
  // The tensors of a random model use the streams from 0 on.
  constexpr std::uint64_t control_stream = std::uint64_t{1} << 62;
  const std::uint64_t seed = input.context.settings.seed,
                      of_control = number == 1
                                       ? seed
                                       : CounterRandom(seed, control_stream).value(number - 1);
  return is_untrained(number) ? random_model(input.context.model.config, of_control)
                              : permuted_model(input.context.model, of_control);
}

std::string name_of_control(int number) {
  if (number == 0) return "";
  constexpr int n_of_kind = static_cast<int>(n_control_per_kind);
  return (is_untrained(number) ? "untrained control " + std::to_string(number)
                               : "permuted control " + std::to_string(number - n_of_kind)) +
         " of " + std::to_string(n_of_kind) + ", ";
}

/// Goes through the passes of a run in order.
/// @param begin     called with the passes and the model's analyses before the first pass.
/// @param complete  brings together the statistics of a pass of a model, given the trained model's
///                  of earlier passes; false ends the run.
/// @return          nullopt also unless `makes_results`.
template <typename Begin, typename Complete>
std::optional<Results> go_through(const RunInput& input, bool makes_results, RunMonitor& monitor,
                                  const Begin& begin, const Complete& complete) {
  const std::vector<Pass> passes = plan_passes(input);
  ModelRun trained(input.analyses, input.context);
  FinishedControls controls;
  begin(passes, trained);
  for (const Pass& pass : passes) {
    if (pass.control == 0) {
      if (!complete(pass, trained, trained)) return std::nullopt;
      continue;
    }
    const Model model = control_model(input, pass.control);
    ModelRun control(controlled_analyses(input, pass.control),
                     {model, input.context.corpus, input.context.settings, input.context.tasks,
                      input.context.compute});
    if (!complete(pass, control, trained)) return std::nullopt;
    if (makes_results) controls.add(control, pass.control);
  }
  monitor.end_passes();
  if (!makes_results) return std::nullopt;
  return finish_results(input, trained, std::move(controls), monitor);
}

}  // namespace

ShardRun::ShardRun(RunInput input, RunFiles files)
    : input_(std::move(input)),
      files_(std::move(files)),
      label_(label_of(input_, files_)),
      folder_(files_.output, label_),
      lock_(files_.n_shard == 1 ? files_.output : folder_.folder(),
            files_.n_shard == 1 ? ".lock" : folder_.lock_name(files_.shard)) {}

std::optional<Results> ShardRun::results(RunMonitor& monitor) {
  const auto begin = [&](const std::vector<Pass>& passes, const ModelRun& trained) {
    check_other_shards();
    const auto begun = folder_.begun_file(files_.resume || files_.n_shard == 1);
    if (begun && !files_.resume) {
      throw RunError(RunObstacle::unfinished, *begun + ": left by a run that was not finished");
    }
    double cost = 0;
    for (const Pass& pass : passes) cost += cost_of(files_, pass, trained);
    monitor.begin_passes(cost, folder_.begun_file(true).has_value());
  };
  std::optional<Results> results =
      go_through(input_, files_.n_shard == 1, monitor, begin,
                 [&](const Pass& pass, ModelRun& model, const ModelRun& trained) {
                   return complete(pass, model, trained, monitor);
                 });
  if (results) results->attributes["arithmetic"] = arithmetic_text(folder_.arithmetic());
  return results;
}

void ShardRun::check_other_shards() const {
  for (int shard = 1; shard <= files_.n_shard; ++shard) {
    if (shard == files_.shard || !folder_.is_finished(shard, 1)) continue;
    const std::string path = folder_.finished_path(shard, 1);
    check_identity(label_, read_pass_label(path), path);
  }
}

bool ShardRun::complete(const Pass& pass, ModelRun& model, const ModelRun& trained,
                        RunMonitor& monitor) {
  const bool is_last_of_shard = pass.is_last && files_.n_shard > 1;
  if (!folder_.is_finished(files_.shard, pass.number)) {
    run_pass(pass, model, trained, monitor);
  } else {
    monitor.skip(cost_of(files_, pass, model));
    PassFile finished = folder_.read_finished(files_.shard, pass.number);
    folder_.remove_saved(pass.number);  // of a process killed before it removed the file
    if (!is_last_of_shard) merge(model.statistics(), std::move(finished.statistics));
  }
  if (is_last_of_shard || files_.n_shard == 1) return true;
  if (!wait_for_shards(pass.number, monitor)) return false;
  for (int shard = 1; shard <= files_.n_shard; ++shard) {
    if (shard == files_.shard) continue;
    merge(model.statistics(), folder_.read_finished(shard, pass.number).statistics);
  }
  return true;
}

void ShardRun::run_pass(const Pass& pass, ModelRun& model, const ModelRun& trained,
                        RunMonitor& monitor) {
  model.begin_pass(pass, trained);
  std::uint64_t n_saved = 0;  // pieces
  if (std::filesystem::exists(folder_.saved_path(pass.number))) {
    PassFile saved = folder_.read_saved(pass.number);
    merge(model.statistics(), std::move(saved.statistics));
    n_saved = saved.label.n_done;
  }
  const std::vector<std::uint64_t> items = items_of(files_, pass, model);
  const std::string item_name = pass.input == AnalysisInput::tasks ? "batch" : "document",
                    pass_name = name_of_control(pass.control) + model.phase(pass);
  SaveTimer timer(files_.save_every);
  std::uint64_t n_done = 0, n_item_done = 0;
  for (const std::uint64_t item : items) {
    const std::uint64_t n_piece = model.n_piece(pass, item);
    for (std::uint64_t index = 0; index < n_piece; ++index) {
      const double cost = model.cost(pass, item);
      const bool ends_item = index + 1 == n_piece;
      if (n_done < n_saved) {
        monitor.skip(cost);
      } else {
        if (n_done == n_saved) monitor.begin_pass(pass_name, item_name, items.size(), n_item_done);
        monitor.advance(ends_item, cost, model.run_piece(pass, item, index));
      }
      if (ends_item) ++n_item_done;
      if (++n_done <= n_saved || n_item_done == items.size()) continue;
      if (!timer.is_due(ends_item) && !monitor.wants_stop()) continue;
      const std::string place = (ends_item ? "after " : "within ") + item_name + " " +
                                std::to_string(n_item_done + (ends_item ? 0 : 1)) + " of " +
                                std::to_string(items.size());
      monitor.save(
          [&] {
            timer.save([&] { folder_.save(pass.number, n_done, model.statistics(), place); });
          },
          "saved " + place + ", pass " + std::to_string(pass.number));
    }
  }
  model.end_pass();
  monitor.save([&] { folder_.finish(pass.number, n_done, model.statistics()); },
               "saved after pass " + std::to_string(pass.number));
}

/// @return false if other shards lack the pass and are not waited for.
bool ShardRun::wait_for_shards(int pass, RunMonitor& monitor) {
  std::vector<int> missing = folder_.unfinished_shards(pass);
  if (missing.empty()) return true;
  const std::string number = std::to_string(pass);
  monitor.report_missing_shards("shard " + std::to_string(files_.shard) + " of " +
                                    std::to_string(files_.n_shard) + ": pass " + number +
                                    " is finished; the next needs pass " + number + " of shard " +
                                    shard_list(missing),
                                files_.wait);
  constexpr auto pause = std::chrono::milliseconds(500);
  constexpr int patience = 20;  // times: a shard that its user starts again has so long to do so
  int n_abandoned = 0;
  while (files_.wait && !missing.empty()) {
    std::this_thread::sleep_for(pause);
    if (monitor.wants_stop()) monitor.save([] {}, "saved after pass " + number);
    // In this order: a shard that finishes the pass and ends in between counts as finished.
    std::vector<int> abandoned;
    std::ranges::copy_if(missing, std::back_inserter(abandoned),
                         [&](int shard) { return folder_.is_abandoned(shard); });
    missing = folder_.unfinished_shards(pass);
    std::erase_if(abandoned, [&](int shard) { return !std::ranges::count(missing, shard); });
    n_abandoned = abandoned.empty() ? 0 : n_abandoned + 1;
    if (n_abandoned > patience) {
      throw RunError(RunObstacle::abandoned_shard,
                     "pass " + number + " of shard " + shard_list(abandoned) +
                         " is missing, and no process runs that shard any more",
                     abandoned.front());
    }
  }
  return missing.empty();
}

Results merge_shards(const RunInput& input, const ShardTable& shards, RunMonitor& monitor) {
  PassLabel merged = label_of(input, {});
  merged.mixed = shards.label().mixed;
  merged.where = "now";
  check_identity(merged, shards.label(), shards.first_path());
  check_arithmetic(merged, shards.label(), shards.first_path());
  merged.arithmetic.insert(shards.label().arithmetic.begin(), shards.label().arithmetic.end());
  Results results = *go_through(
      input, true, monitor, [](const std::vector<Pass>&, const ModelRun&) {},
      [&](const Pass& pass, ModelRun& model, const ModelRun&) {
        shards.merge_into(model.statistics(), pass.number);
        return true;
      });
  results.attributes["arithmetic"] = arithmetic_text(merged.arithmetic);
  return results;
}

std::vector<ResultsGroup> results_of_piece(const std::vector<const RegisteredAnalysis*>& analyses,
                                           const AnalysisContext& context, const Piece& piece) {
  ModelRun model(analyses, context);
  const Pass pass = plan_passes({.context = context, .analyses = analyses}).front();
  model.begin_pass(pass, model);
  model.observe(pass, piece);
  std::vector<ResultsGroup> groups;
  for (const ModelRun::Item& item : model.items()) {
    add_titled(item.analysis->finish(*item.statistics), item.registered->info, groups);
  }
  return groups;
}

}  // namespace headscope
