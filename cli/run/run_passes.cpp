#include "run/run_passes.hpp"

#include <chrono>
#include <iostream>
#include <thread>

#include "headscope/error.hpp"
#include "run/shard_pieces.hpp"

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

PassRunner::PassRunner(const RunSetup& setup, PassFolder& folder)
    : options_(setup.options()),
      folder_(folder),
      progress_style_(Progress::detect(setup.options().quiet)) {
  if (options_.resume) return;
  if (const auto begun = folder_.begun_file(options_.n_shard == 1)) {
    throw DataError(*begun, "",
                    "left by a run that was not finished; continue it with --resume, or remove it "
                    "to begin again");
  }
}

bool PassRunner::run(CorpusRun& corpus_run, int first_pass, const std::string& task) {
  const int n_pass = corpus_run.n_pass();
  for (int own_pass = 0; own_pass < n_pass; ++own_pass) {
    const int pass = first_pass + own_pass;
    const bool is_last = own_pass + 1 == n_pass;
    const bool is_needed = !is_last || options_.n_shard == 1;
    if (!folder_.is_finished(options_.shard, pass)) {
      corpus_run.begin_pass(own_pass);
      run_pass(corpus_run, pass,
               n_pass == 1 ? task
                           : task + " (pass " + std::to_string(own_pass + 1) + " of " +
                                 std::to_string(n_pass) + ")");
    } else {
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

void PassRunner::run_pass(CorpusRun& corpus_run, int pass, const std::string& task) {
  std::uint64_t n_done = 0;  // pieces
  if (std::filesystem::exists(folder_.saved_path(pass))) {
    const PassFile saved = folder_.read_saved(pass);
    corpus_run.merge(saved.statistics);
    n_done = saved.label.n_done;
  }
  ShardPieces pieces(corpus_run, static_cast<std::uint64_t>(options_.shard),
                     static_cast<std::uint64_t>(options_.n_shard));
  double work_before = 0, work = 0;
  std::uint64_t n_seen = 0;
  for (ShardPieces each = pieces; !each.at_end(); each.advance(), ++n_seen) {
    if (n_seen == n_done) pieces = each;
    (n_seen < n_done ? work_before : work) += corpus_run.forward_passes(each.item());
  }
  const std::uint64_t n_item = pieces.n_item();
  Progress progress(progress_style_, task, corpus_run.item_name(), {n_item, work_before + work},
                    {pieces.n_item_before(), work_before});
  SaveTimer timer(options_.save_every);
  while (!pieces.at_end()) {
    const double piece_work = corpus_run.forward_passes(pieces.item());
    const std::uint64_t n_token = pieces.run();
    ++n_done;
    const bool ends_item = pieces.advance();
    progress.advance({ends_item ? 1u : 0u, piece_work}, n_token);
    if (pieces.at_end()) break;
    const bool is_due = timer.is_due(ends_item);
    if (!is_due && interrupt_.signal() == 0) continue;
    timer.save([&] { folder_.save(pass, n_done, corpus_run.statistics()); });
    stop_if_interrupted("saved after " + std::to_string(pieces.n_item_before()) + " of " +
                        std::to_string(n_item) + " " + corpus_run.item_name() + " of pass " +
                        std::to_string(pass));
  }
  folder_.finish(pass, n_done, corpus_run.statistics());
  stop_if_interrupted("saved after pass " + std::to_string(pass));
}

bool PassRunner::wait_for_others(int pass) const {
  std::vector<int> missing = folder_.unfinished_shards(pass);
  if (missing.empty()) return true;
  if (!options_.quiet) {
    std::cerr << "shard " << options_.shard << " of " << options_.n_shard << ": pass " << pass
              << " is finished; the next needs pass " << pass << " of shard " << shard_list(missing)
              << (options_.wait ? "; waiting\n" : "; run this command again when it is there\n");
  }
  while (options_.wait && !missing.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    stop_if_interrupted("saved after pass " + std::to_string(pass));
    missing = folder_.unfinished_shards(pass);
  }
  return missing.empty();
}

void PassRunner::stop_if_interrupted(const std::string& saved) const {
  const int signal = interrupt_.signal();
  if (signal == 0) return;
  throw Interrupted(signal, std::string(signal == SIGINT ? "SIGINT" : "SIGTERM") + ": " + saved +
                                "; continue with `" + options_.command_line +
                                (options_.resume ? "`" : " --resume`"));
}

}  // namespace headscope
