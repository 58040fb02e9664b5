#include "run/interrupt.hpp"

namespace headscope {
namespace {

volatile std::sig_atomic_t noted_signal = 0;

void note(int signal) {
  noted_signal = signal;
}

}  // namespace

InterruptNote::InterruptNote() {
  noted_signal = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

InterruptNote::~InterruptNote() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

int InterruptNote::signal() const {
  return noted_signal;
}

}  // namespace headscope
