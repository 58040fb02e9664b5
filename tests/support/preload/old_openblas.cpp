// Loaded before OpenBLAS, answers as one that does not know the processor, and counts the starts
// of the program in the file that STARTS_FILE names.
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
    std::fputs("started\n", file);
    std::fclose(file);
  }
  return true;
}();

}  // namespace
