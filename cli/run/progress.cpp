#include "run/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
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

std::string percent_text(double share) {
  return std::to_string(static_cast<int>(100 * share)) + " %";
}

/// Columns of the terminal that stderr is; 80 if it does not say.
std::size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

Progress::Style Progress::detect(bool quiet) {
  if (quiet) return Style::quiet;
  return isatty(STDERR_FILENO) != 0 ? Style::bar : Style::lines;
}

void Progress::phase(bool quiet, const std::string& text) {
  if (detect(quiet) != Style::bar) return;
  std::cerr << "\r\033[K" << text.substr(0, terminal_width() - 1);
  std::cerr.flush();
}

Progress::Progress(Style style, std::string task, std::string item_name, Amount all, Amount before)
    : style_(style),
      task_(std::move(task)),
      item_name_(std::move(item_name)),
      all_(all),
      before_(before) {}

Progress::~Progress() {
  if (printed_any_) print(true);
}

void Progress::advance(Amount done, std::uint64_t n_token) {
  done_.n_item += done.n_item;
  done_.work += done.work;
  tokens_ += n_token;
  if (style_ == Style::quiet) return;
  const std::chrono::duration<double> since = Clock::now() - printed_;
  const double interval = style_ == Style::bar ? 0.2 : 10;
  const bool is_first_on_terminal = style_ == Style::bar && !printed_any_;
  if (since.count() < interval && !is_first_on_terminal) return;
  printed_ = Clock::now();
  print(false);
}

void Progress::print(bool last) {
  printed_any_ = true;
  if (style_ == Style::bar) {
    // A line as wide as the terminal would wrap.
    std::cerr << "\r\033[K" << text().substr(0, terminal_width() - 1);
    if (last) std::cerr << "\n";
    std::cerr.flush();
  } else {
    std::cerr << text() << "\n";
  }
}

std::string Progress::text() const {
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  const std::uint64_t n_item = before_.n_item + done_.n_item;
  const double work = before_.work + done_.work;
  std::string line = task_ + ": ";
  const double share = all_.work > 0 ? work / all_.work : 1;
  if (style_ == Style::bar) {
    constexpr std::size_t longest = 24, beside = 64;  // the text after the bar
    const std::size_t width = terminal_width();
    const std::size_t bar =
        std::min(longest, width > line.size() + beside ? width - line.size() - beside : 0);
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(bar));
    if (bar > 3) line += "[" + std::string(filled, '#') + std::string(bar - filled, '.') + "] ";
  }
  line += percent_text(share) + ", " + std::to_string(n_item) + " of " +
          std::to_string(all_.n_item) + " " + item_name_;
  const bool is_done = n_item == all_.n_item;
  const double seconds = elapsed.count();
  if (is_done || done_.work > 0) {
    line += ", " + (is_done ? duration_text(seconds)
                            : duration_text(seconds / done_.work * (all_.work - work)) + " left");
  }
  if (seconds > 0) {
    line +=
        ", " + std::to_string(std::llround(static_cast<double>(tokens_) / seconds)) + " tokens/s";
  }
  return line;
}

}  // namespace headscope
