#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "headscope/run.hpp"
#include "interrupt.hpp"
#include "phase_lines.hpp"

namespace headscope {

/// Progress of a whole run on stderr: on a terminal one line no wider than it, else a plain line
/// every ten seconds, and fewer where one item takes longer. The time left is of the whole run: of
/// its passes by their cost and the speed so far, and what comes after them.
///
/// SIGINT and SIGTERM stop the passes where they can be saved.
class Progress : public RunMonitor {
 public:
  /// @param resume_command  continues the run once it was stopped; empty: nothing is saved.
  explicit Progress(bool quiet, std::string resume_command = "");
  /// Removes the line.
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Says what is being done: at once on a terminal, else once it has taken ten seconds.
  void phase(const std::string& name) override;
  /// Removes the line, for other messages.
  void clear();
  /// @param seconds  estimate for what comes after the passes.
  void expect_after_passes(double seconds) { seconds_after_ = seconds; }

  void begin_passes(double cost, bool has_saved) override;
  void skip(double cost) override { cost_before_ += cost; }
  void begin_pass(const std::string& name, const std::string& item, std::uint64_t n_item,
                  std::uint64_t n_before) override;
  void advance(bool ends_item, double cost, std::uint64_t n_token) override;
  /// @throws Interrupted after SIGINT or SIGTERM.
  void end_passes() override;

  bool wants_stop() const override { return interrupt_ && interrupt_->signal() != 0; }
  /// @throws Interrupted after SIGINT or SIGTERM, once `action` has run. Where a piece goes on for
  /// more than a second, the program ends with what was saved before.
  void save(const std::function<void()>& action, const std::string& state) override;
  void report_missing_shards(const std::string& text, bool waiting) override;

  /// Says how long it all took.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Style { quiet, lines, terminal };

  struct Left {
    double seconds, share_done;
  };

  /// @throws Interrupted after SIGINT or SIGTERM.
  void stop_if_asked() const;
  /// What the program says when it stops, and how to go on.
  std::string saved_text(const std::string& state) const;
  void print();
  /// `, document 3 of 8`; nothing in a phase without items.
  std::string place() const;
  std::string line() const;
  /// Of the whole run; not known while nothing has been timed.
  std::optional<Left> left() const;

  Style style_;
  std::string resume_command_;
  std::string stop_text_;                   // since the last save
  std::optional<InterruptNote> interrupt_;  // during passes
  std::optional<PhaseLines> phase_lines_;   // where stderr is no terminal
  std::string phase_, item_;
  bool has_items_ = false;
  std::uint64_t n_item_ = 0, n_item_done_ = 0;
  double cost_ = 0, cost_before_ = 0, cost_done_ = 0, seconds_after_ = 0;
  double seconds_in_passes_ = 0, seconds_in_pass_ = 0;
  std::uint64_t n_token_in_pass_ = 0;
  Clock::time_point start_ = Clock::now(), advanced_ = start_, printed_ = start_;
  bool printed_any_ = false;
};

}  // namespace headscope
