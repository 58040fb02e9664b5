#include "progress.hpp"

#include <algorithm>
#include <iostream>

#include "terminal.hpp"

namespace headscope {
namespace {

using Seconds = std::chrono::duration<double>;

}  // namespace

Progress::Progress(bool quiet, std::string resume_command)
    : style_(quiet                             ? Style::quiet
             : Terminal::error().is_terminal() ? Style::terminal
                                               : Style::lines),
      resume_command_(std::move(resume_command)) {
  if (style_ == Style::lines) phase_lines_.emplace();
}

Progress::~Progress() {
  clear();
}

void Progress::phase(const std::string& name) {
  phase_ = name;
  has_items_ = false;
  if (style_ == Style::terminal) print();
  if (phase_lines_) phase_lines_->begin(name);
}

void Progress::clear() {
  if (phase_lines_) phase_lines_->end();
  if (style_ != Style::terminal || !printed_any_) return;
  std::cerr << "\r\033[K";
  std::cerr.flush();
}

void Progress::begin_passes(double cost, bool has_saved) {
  cost_ = cost;
  stop_text_ = has_saved ? saved_text("the state was saved before")
                         : "nothing was saved yet; the same command begins again";
  interrupt_.emplace(style_ == Style::quiet, stop_text_);
}

void Progress::save(const std::function<void()>& action, const std::string& state) {
  stop_text_ = saved_text(state);
  interrupt_->undisturbed(action, stop_text_);
  stop_if_asked();
}

std::string Progress::saved_text(const std::string& state) const {
  return state + "; continue with `" + resume_command_ + "`";
}

void Progress::stop_if_asked() const {
  if (wants_stop()) throw Interrupted(interrupt_->signal(), stop_text_);
}

void Progress::report_missing_shards(const std::string& text, bool waiting) {
  clear();
  if (style_ == Style::quiet) return;
  std::cerr << Terminal::error().note(
      text + (waiting ? "; waiting" : "; run this command again when it is there"));
}

void Progress::begin_pass(const std::string& name, const std::string& item, std::uint64_t n_item,
                          std::uint64_t n_before) {
  phase_ = name;
  item_ = item;
  has_items_ = true;
  n_item_ = n_item;
  n_item_done_ = n_before;
  n_token_in_pass_ = 0;
  seconds_in_pass_ = 0;
  advanced_ = Clock::now();
  if (style_ == Style::terminal) print();
  if (phase_lines_) phase_lines_->begin(phase_ + place());
}

void Progress::advance(bool ends_item, double cost, std::uint64_t n_token) {
  const Clock::time_point now = Clock::now();
  const double seconds = Seconds(now - advanced_).count();
  seconds_in_pass_ += seconds;
  seconds_in_passes_ += seconds;
  advanced_ = now;
  if (ends_item) ++n_item_done_;
  cost_done_ += cost;
  n_token_in_pass_ += n_token;
  const Seconds interval(style_ == Style::terminal ? 0.2 : 10);
  if (style_ != Style::quiet && now - printed_ >= interval) print();
  if (phase_lines_) phase_lines_->begin(phase_ + place());
}

void Progress::end_passes() {
  if (phase_lines_) phase_lines_->end();
  stop_if_asked();
  interrupt_.reset();
  cost_ = cost_before_ + cost_done_;
}

void Progress::finish() {
  clear();
  if (style_ == Style::quiet || (style_ == Style::lines && !printed_any_)) return;
  std::cerr << "finished in " << duration_text(Seconds(Clock::now() - start_).count()) << "\n";
  printed_any_ = false;
}

void Progress::print() {
  printed_any_ = true;
  printed_ = Clock::now();
  std::cerr << (style_ == Style::terminal ? "\r\033[K" + line() : line() + "\n");
  std::cerr.flush();
}

std::optional<Progress::Left> Progress::left() const {
  const double cost_left = std::max(0.0, cost_ - cost_before_ - cost_done_);
  if (cost_ == 0 || (cost_left > 0 && cost_done_ == 0)) return std::nullopt;
  const double per_cost = cost_done_ > 0 ? seconds_in_passes_ / cost_done_ : 0,
               seconds = per_cost * cost_left + seconds_after_,
               spent = Seconds(Clock::now() - start_).count() + per_cost * cost_before_;
  return Left{seconds, spent / std::max(spent + seconds, 1e-9)};
}

std::string Progress::place() const {
  if (!has_items_) return "";
  return ", " + item_ + " " + std::to_string(std::min(n_item_done_ + 1, n_item_)) + " of " +
         std::to_string(n_item_);
}

std::string Progress::line() const {
  const std::string at = place();
  std::string text = phase_, time, speed;
  const std::optional<Left> rest = left();
  if (rest) {
    time = ": " + std::to_string(static_cast<int>(100 * rest->share_done)) + " %, " +
           duration_text(rest->seconds) + " left";
  }
  if (has_items_) speed = rate_text(n_token_in_pass_, seconds_in_pass_);
  if (!speed.empty()) speed = ", " + speed;
  if (style_ == Style::lines) return text + at + time + speed;
  // A line as wide as the terminal would wrap. What does not fit is left out.
  const std::size_t most = Terminal::error().columns() - 1;
  for (const std::string& more : {at + time + speed, at + time, time}) {
    if (text.size() + more.size() > most) continue;
    text += more;
    break;
  }
  text.resize(std::min(text.size(), most));
  constexpr std::size_t least_bar = 8, longest_bar = 24, frame = 3;
  const std::size_t room = most - text.size();
  if (rest && room >= least_bar + frame) {
    const std::size_t bar = std::min(longest_bar, room - frame);
    const auto filled = static_cast<std::size_t>(rest->share_done * static_cast<double>(bar));
    text += " [" + std::string(filled, '#') + std::string(bar - filled, '.') + "]";
  }
  return text;
}

}  // namespace headscope
