#include "run/progress.hpp"

#include <unistd.h>

#include <cmath>
#include <iostream>

namespace headscope {
namespace {

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

}  // namespace

Progress::Style Progress::detect(bool quiet) {
  if (quiet) return Style::quiet;
  return isatty(STDERR_FILENO) != 0 ? Style::bar : Style::lines;
}

Progress::Progress(Style style, std::string task, std::string item_name, std::uint64_t n_item,
                   std::function<double(std::uint64_t)> work, std::uint64_t n_done)
    : style_(style),
      task_(std::move(task)),
      item_name_(std::move(item_name)),
      n_item_(n_item),
      work_(std::move(work)),
      done_(n_done) {
  for (std::uint64_t i = 0; i < n_item; ++i) (i < n_done ? work_before_ : work_left_) += work_(i);
}

Progress::~Progress() {
  if (printed_any_) print(true);
}

void Progress::advance(std::uint64_t n_token) {
  const double work = work_(done_);
  work_done_ += work;
  work_left_ -= work;
  ++done_;
  tokens_ += n_token;
  if (style_ == Style::quiet) return;
  const std::chrono::duration<double> since = Clock::now() - printed_;
  const double interval = style_ == Style::bar ? 0.2 : 10;
  if (since.count() < interval) return;
  printed_ = Clock::now();
  print(false);
}

void Progress::print(bool last) {
  printed_any_ = true;
  if (style_ == Style::bar) {
    std::cerr << "\r\033[K" << text();
    if (last) std::cerr << "\n";
    std::cerr.flush();
  } else {
    std::cerr << text() << "\n";
  }
}

std::string Progress::text() const {
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  std::string line = task_ + ": ";
  if (style_ == Style::bar) {
    constexpr int width = 24;
    const double done = work_before_ + work_done_, all = done + work_left_;
    const int filled = static_cast<int>((all > 0 ? done / all : 1) * width);
    line += "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] ";
  }
  line += std::to_string(done_) + "/" + std::to_string(n_item_) + " " + item_name_;
  if (elapsed.count() > 0) {
    line += ", " + std::to_string(std::llround(static_cast<double>(tokens_) / elapsed.count())) +
            " tokens/s";
  }
  if (done_ < n_item_ && work_done_ > 0) {
    line += ", " + duration_text(elapsed.count() / work_done_ * work_left_) + " left";
  } else {
    line += ", " + duration_text(elapsed.count());
  }
  return line;
}

}  // namespace headscope
