#include "progress.hpp"

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

Progress::Progress(Style style, std::string task, std::uint64_t n_document, std::uint64_t n_done)
    : style_(style),
      task_(std::move(task)),
      n_document_(n_document),
      done_before_(n_done),
      done_(n_done) {}

Progress::~Progress() {
  if (printed_any_) print(true);
}

void Progress::advance(std::uint64_t n_token) {
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
  const double share =
      n_document_ > 0 ? static_cast<double>(done_) / static_cast<double>(n_document_) : 1;
  std::string line = task_ + ": ";
  if (style_ == Style::bar) {
    constexpr int width = 24;
    const int filled = static_cast<int>(share * width);
    line += "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] ";
  }
  line += std::to_string(done_) + "/" + std::to_string(n_document_) + " documents";
  if (elapsed.count() > 0) {
    line += ", " + std::to_string(std::llround(static_cast<double>(tokens_) / elapsed.count())) +
            " tokens/s";
  }
  if (done_ < n_document_ && done_ > done_before_) {
    const double per_document = elapsed.count() / static_cast<double>(done_ - done_before_);
    line += ", " + duration_text(per_document * static_cast<double>(n_document_ - done_)) + " left";
  } else {
    line += ", " + duration_text(elapsed.count());
  }
  return line;
}

}  // namespace headscope
