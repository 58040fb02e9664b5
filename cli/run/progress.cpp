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

Progress::Progress(Style style, std::string task, Amount all, Amount before)
    : style_(style), task_(std::move(task)), all_(all), before_(before) {}

Progress::~Progress() {
  if (printed_any_) print(true);
}

void Progress::advance(Amount done, std::uint64_t n_token) {
  done_.n_document += done.n_document;
  done_.work += done.work;
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
  const std::uint64_t n_document = before_.n_document + done_.n_document;
  const double work = before_.work + done_.work;
  std::string line = task_ + ": ";
  if (style_ == Style::bar) {
    constexpr int width = 24;
    const int filled = static_cast<int>((all_.work > 0 ? work / all_.work : 1) * width);
    line += "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] ";
  }
  line += std::to_string(n_document) + "/" + std::to_string(all_.n_document) + " documents";
  if (elapsed.count() > 0) {
    line += ", " + std::to_string(std::llround(static_cast<double>(tokens_) / elapsed.count())) +
            " tokens/s";
  }
  if (n_document < all_.n_document && done_.work > 0) {
    line += ", " + duration_text(elapsed.count() / done_.work * (all_.work - work)) + " left";
  } else {
    line += ", " + duration_text(elapsed.count());
  }
  return line;
}

}  // namespace headscope
