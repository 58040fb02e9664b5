#include "run/run_passes.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <thread>

#include "headscope/error.hpp"
#include "terminal.hpp"

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

std::string shard_list(const std::vector<int>& shards) {
  std::string list;
  for (const int shard : shards) list += (list.empty() ? "" : ", ") + std::to_string(shard);
  return list;
}

}  // namespace

PassRunner::PassRunner(const RunSetup& setup, PassFolder& folder, Progress& progress)
    : options_(setup.options()),
      folder_(folder),
      progress_(progress),
      interrupt_(setup.options().quiet) {
  save([] {}, folder_.begun_file(true) ? "the state was saved before" : "nothing was saved yet");
  if (options_.resume) return;
  if (const auto begun = folder_.begun_file(options_.n_shard == 1)) {
    throw DataError(*begun, "",
                    "left by a run that was not finished; continue it with --resume, or remove it "
                    "to begin again");
  }
}

ShardPieces PassRunner::pieces(CorpusRun& corpus_run, int own_pass) const {
  return {corpus_run, own_pass, static_cast<std::uint64_t>(options_.shard),
          static_cast<std::uint64_t>(options_.n_shard)};
}

double PassRunner::cost(CorpusRun& corpus_run, int own_pass) const {
  double cost = 0;
  for (ShardPieces each = pieces(corpus_run, own_pass); !each.at_end(); each.advance()) {
    cost += each.cost();
  }
  return cost;
}

double PassRunner::cost(CorpusRun& corpus_run) const {
  double all = 0;
  for (int pass = 0; pass < corpus_run.n_pass(); ++pass) all += cost(corpus_run, pass);
  return all;
}

bool PassRunner::run(CorpusRun& corpus_run, int first_pass, const std::string& model) {
  const int n_pass = corpus_run.n_pass();
  for (int own_pass = 0; own_pass < n_pass; ++own_pass) {
    const int pass = first_pass + own_pass;
    const bool is_last = own_pass + 1 == n_pass;
    const bool is_needed = !is_last || options_.n_shard == 1;
    if (!folder_.is_finished(options_.shard, pass)) {
      run_pass(corpus_run, own_pass, pass, model);
    } else {
      progress_.skip(cost(corpus_run, own_pass));
      const PassFile finished = folder_.read_finished(options_.shard, pass);
      if (is_needed) corpus_run.merge(finished.statistics);
    }
    if (is_last || options_.n_shard == 1) continue;
    if (!wait_for_others(pass)) return false;
    for (int shard = 1; shard <= options_.n_shard; ++shard) {
      if (shard == options_.shard) continue;
      corpus_run.merge(folder_.read_finished(shard, pass).statistics);
    }
  }
  corpus_run.end();
  return true;
}

void PassRunner::run_pass(CorpusRun& corpus_run, int own_pass, int pass, const std::string& model) {
  corpus_run.begin_pass(own_pass);
  std::uint64_t n_done = 0;  // pieces
  if (std::filesystem::exists(folder_.saved_path(pass))) {
    const PassFile saved = folder_.read_saved(pass);
    corpus_run.merge(saved.statistics);
    n_done = saved.label.n_done;
  }
  ShardPieces rest = pieces(corpus_run, own_pass);
  for (std::uint64_t i = 0; i < n_done && !rest.at_end(); ++i) {
    progress_.skip(rest.cost());
    rest.advance();
  }
  const std::uint64_t n_item = rest.n_item();
  const std::string item = corpus_run.item_name(own_pass);
  progress_.begin_pass((model.empty() ? "" : model + ", ") + corpus_run.phase(own_pass), item,
                       n_item, rest.n_item_before());
  SaveTimer timer(options_.save_every);
  while (!rest.at_end()) {
    const double cost = rest.cost();
    const std::uint64_t n_token = rest.run();
    ++n_done;
    const bool ends_item = rest.advance();
    progress_.advance(ends_item, cost, n_token);
    if (rest.at_end()) break;
    const bool is_due = timer.is_due(ends_item);
    if (!is_due && interrupt_.signal() == 0) continue;
    const std::string place =
        item + " " + std::to_string(rest.n_item_before()) + " of " + std::to_string(n_item);
    save([&] { timer.save([&] { folder_.save(pass, n_done, corpus_run.statistics(), place); }); },
         "saved after " + place + ", pass " + std::to_string(pass));
    stop_if_interrupted();
  }
  save([&] { folder_.finish(pass, n_done, corpus_run.statistics()); },
       "saved after pass " + std::to_string(pass));
  stop_if_interrupted();
}

bool PassRunner::wait_for_others(int pass) const {
  std::vector<int> missing = folder_.unfinished_shards(pass);
  if (missing.empty()) return true;
  progress_.clear();
  if (!options_.quiet) {
    const std::string number = std::to_string(pass);
    std::cerr << Terminal::error().note(
        "shard " + std::to_string(options_.shard) + " of " + std::to_string(options_.n_shard) +
        ": pass " + number + " is finished; the next needs pass " + number + " of shard " +
        shard_list(missing) +
        (options_.wait ? "; waiting" : "; run this command again when it is there"));
  }
  constexpr auto pause = std::chrono::milliseconds(500);
  constexpr int patience = 20;  // times: a shard that its user starts again has so long to do so
  int n_abandoned = 0;
  while (options_.wait && !missing.empty()) {
    std::this_thread::sleep_for(pause);
    stop_if_interrupted();
    // In this order: a shard that finishes the pass and ends in between counts as finished.
    std::vector<int> abandoned;
    std::ranges::copy_if(missing, std::back_inserter(abandoned),
                         [&](int shard) { return folder_.is_abandoned(shard); });
    missing = folder_.unfinished_shards(pass);
    std::erase_if(abandoned, [&](int shard) { return !std::ranges::count(missing, shard); });
    n_abandoned = abandoned.empty() ? 0 : n_abandoned + 1;
    if (n_abandoned > patience) {
      throw Error("no process runs shard " + shard_list(abandoned) + " any more, whose pass " +
                  std::to_string(pass) + " is missing; continue it with `--shard " +
                  std::to_string(abandoned.front()) + "/" + std::to_string(options_.n_shard) +
                  " --resume`, then this shard with `" + resume_command() + "`");
    }
  }
  return missing.empty();
}

std::string PassRunner::resume_command() const {
  return options_.command_line + (options_.resume ? "" : " --resume");
}

void PassRunner::save(const std::function<void()>& action, const std::string& saved) {
  state_ = saved + "; continue with `" + resume_command() + "`";
  interrupt_.undisturbed(action, state_);
}

void PassRunner::stop_if_interrupted() const {
  if (interrupt_.signal() != 0) throw Interrupted(interrupt_.signal(), state_);
}

}  // namespace headscope
