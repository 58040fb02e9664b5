#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headscope {

/// Progress on stderr: on a terminal a bar in a line no wider than it, else a plain line every ten
/// seconds.
class Progress {
 public:
  enum class Style { quiet, lines, bar };

  /// An amount of work.
  struct Amount {
    std::uint64_t n_item = 0;
    double work = 0;  ///< cost, in any unit
  };

  /// `quiet` if asked, else `bar` if stderr is a terminal, else `lines`.
  static Style detect(bool quiet);

  /// Names, on a terminal, what is being done that has no steps to count: `loading the model`. The
  /// next line takes its place; empty removes it.
  static void phase(bool quiet, const std::string& text);

  /// @param item_name  what is counted: `documents`.
  /// @param before     of `all`, done by an earlier process and not timed here.
  Progress(Style style, std::string task, std::string item_name, Amount all, Amount before);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Counts what was just done.
  void advance(Amount done, std::uint64_t n_token);

 private:
  void print(bool last);
  std::string text() const;

  using Clock = std::chrono::steady_clock;
  Style style_;
  std::string task_, item_name_;
  Amount all_, before_;
  Amount done_;  // since then
  std::uint64_t tokens_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point printed_ = start_;
  bool printed_any_ = false;
};

}  // namespace headscope
