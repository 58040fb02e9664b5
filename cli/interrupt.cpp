#include "interrupt.hpp"

#include <semaphore.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iostream>

#include "terminal.hpp"

namespace headscope {
namespace {

using std::chrono::milliseconds;

// A signal's echo comes so soon: timeout(1) and others signal a program and then its group.
constexpr milliseconds echo{300};
// How long the work may go on after a signal.
constexpr milliseconds patience{1000};

volatile std::sig_atomic_t noted_signal = 0;
sem_t received;

void note(int signal) {
  const int error = errno;
  if (noted_signal == 0) noted_signal = signal;
  sem_post(&received);
  errno = error;
}

// On a terminal the line of the progress stands before.
std::string line_of(const std::string& text) {
  const Terminal& terminal = Terminal::error();
  return (terminal.is_terminal() ? "\r\033[K" : "") + terminal.note(text);
}

}  // namespace

std::string signal_name(int signal) {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

InterruptNote::InterruptNote(bool quiet, std::string message)
    : quiet_(quiet), message_(std::move(message)) {
  noted_signal = 0;
  sem_init(&received, 0, 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction old {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler != SIG_IGN) replaced_.emplace_back(signal, old);
  }
  watcher_ = std::thread([this] { watch(); });
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (const auto& [signal, old] : replaced_) sigaction(signal, &action, nullptr);
}

InterruptNote::~InterruptNote() {
  end_.set_value();
  sem_post(&received);
  watcher_.join();
  for (const auto& [signal, old] : replaced_) sigaction(signal, &old, nullptr);
}

int InterruptNote::signal() const {
  return noted_signal;
}

void InterruptNote::watch() {
  const std::future<void> end = end_.get_future();
  const auto ends_within = [&](milliseconds time) {
    return end.wait_for(time) == std::future_status::ready;
  };
  while (sem_wait(&received) != 0 && errno == EINTR) {
  }
  if (ends_within(milliseconds(0))) return;
  const int signal = noted_signal;
  if (!quiet_) {
    std::cerr << line_of(signal_name(signal) + ": the run stops; a second signal ends it at once");
  }
  if (ends_within(echo)) return;
  struct sigaction end_program {};
  end_program.sa_handler = SIG_DFL;
  for (const auto& [next, old] : replaced_) sigaction(next, &end_program, nullptr);
  if (ends_within(patience - echo)) return;
  const std::lock_guard lock(giving_up_);
  if (ends_within(milliseconds(0))) return;
  std::cerr << line_of(signal_name(signal) + ": " + message_);
  std::cerr.flush();
  _exit(128 + signal);
}

}  // namespace headscope
