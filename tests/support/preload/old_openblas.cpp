// Preloaded, replaces OpenBLAS's name of its kernel by that of a release that does not recognise
// the processor. Adds a line to the file STARTS_FILE at each start of the program: whether SIGINT
// is ignored then.
#include <csignal>
#include <cstdio>
#include <cstdlib>

extern "C" const char* openblas_get_corename() {
  const char* const asked_for = std::getenv("OPENBLAS_CORETYPE");
  return asked_for != nullptr ? asked_for : "Prescott";
}

namespace {

[[maybe_unused]] const bool counted = [] {
  const char* const path = std::getenv("STARTS_FILE");
  std::FILE* const file = path != nullptr ? std::fopen(path, "a") : nullptr;
  if (file != nullptr) {
    struct sigaction interrupt {};
    sigaction(SIGINT, nullptr, &interrupt);
    std::fputs(interrupt.sa_handler == SIG_IGN ? "ignored\n" : "default\n", file);
    std::fclose(file);
  }
  return true;
}();

}  // namespace
