#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headscope {

/// Progress of a whole run on stderr: on a terminal one line no wider than it, else a plain line
/// every ten seconds. The time left is of the whole run: of its passes by their cost and the speed
/// so far, and what comes after them.
class Progress {
 public:
  explicit Progress(bool quiet);
  /// Removes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Names, on a terminal, what is being done that has no steps to count: `loading the model`.
  void phase(const std::string& name);
  /// Removes the line, for other messages.
  void clear();

  /// @param cost           of all passes, in any unit.
  /// @param seconds_after  estimate for what comes after them.
  void expect(double cost, double seconds_after);
  /// Leaves out work that an earlier process did.
  void skip(double cost) { cost_before_ += cost; }
  /// @param name      what the pass does: `ablating heads`.
  /// @param item      what it goes through: `document`.
  /// @param n_before  of n_item, done by an earlier process.
  void begin_pass(const std::string& name, const std::string& item, std::uint64_t n_item,
                  std::uint64_t n_before);
  /// Counts what was just done.
  void advance(bool ends_item, double cost, std::uint64_t n_token);
  /// After the last pass.
  void end_passes();
  /// Says how long it all took.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Style { quiet, lines, terminal };

  /// Of the whole run; not known while nothing has been timed.
  struct Left {
    bool is_known = false;
    double seconds = 0, share_done = 0;
  };

  void print();
  std::string line() const;
  Left left() const;

  Style style_;
  std::string phase_, item_;
  bool has_items_ = false;
  std::uint64_t n_item_ = 0, n_item_done_ = 0;
  double cost_ = 0, cost_before_ = 0, cost_done_ = 0, seconds_after_ = 0;
  double seconds_in_passes_ = 0;
  std::uint64_t tokens_ = 0;
  Clock::time_point start_ = Clock::now(), advanced_ = start_, printed_ = start_;
  bool printed_any_ = false;
};

}  // namespace headscope
