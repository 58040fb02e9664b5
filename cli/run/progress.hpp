#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace headscope {

/// Progress on stderr: a bar on a terminal, else a plain line every ten seconds.
class Progress {
 public:
  enum class Style { quiet, lines, bar };

  /// `quiet` if asked, else `bar` if stderr is a terminal, else `lines`.
  static Style detect(bool quiet);

  /// @param item_name  what is counted: `documents`.
  /// @param work       cost of an item, in any unit.
  /// @param n_done     items done by an earlier process, not timed here.
  Progress(Style style, std::string task, std::string item_name, std::uint64_t n_item,
           std::function<double(std::uint64_t)> work, std::uint64_t n_done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Counts one more item, of `n_token` tokens.
  void advance(std::uint64_t n_token);

 private:
  void print(bool last);
  std::string text() const;

  using Clock = std::chrono::steady_clock;
  Style style_;
  std::string task_, item_name_;
  std::uint64_t n_item_;
  std::function<double(std::uint64_t)> work_;
  std::uint64_t done_;
  double work_before_ = 0;  // of items done by an earlier process
  double work_done_ = 0;    // of items done since
  double work_left_ = 0;
  std::uint64_t tokens_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point printed_ = start_;
  bool printed_any_ = false;
};

}  // namespace headscope
