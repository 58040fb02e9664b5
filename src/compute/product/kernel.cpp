#include "compute/product/kernel.hpp"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/number_text.hpp"
#include "base/processor_seconds.hpp"
#include "compute/product/engines.hpp"
#include "headscope/blas.hpp"

namespace headscope::blas {
namespace {

// Width of the vectors of a kernel or a processor.
enum class Vectors { narrower, avx2, avx512 };

Vectors vectors_of_kernel(std::string_view kernel) {
  const auto is_one_of = [&](const auto& names) { return std::ranges::count(names, kernel) > 0; };
  constexpr std::array<std::string_view, 3> avx512{"SkylakeX", "Cooperlake", "SapphireRapids"};
  constexpr std::array<std::string_view, 3> avx2{"Haswell", "Zen", "Excavator"};
  if (is_one_of(avx512)) return Vectors::avx512;
  return is_one_of(avx2) ? Vectors::avx2 : Vectors::narrower;
}

Vectors vectors_of(const Processor& processor) {
  if (processor.avx512) return Vectors::avx512;
  return processor.avx2 ? Vectors::avx2 : Vectors::narrower;
}

}  // namespace

std::optional<std::string> better_kernel(const Processor& processor, const std::string& current) {
  const Vectors possible = vectors_of(processor);
  if (possible <= vectors_of_kernel(current)) return std::nullopt;
  return possible == Vectors::avx512 ? "SkylakeX" : "Haswell";
}

std::string kernel_in_use() {
  return openblas_get_corename();
}

std::string arithmetic_in_use(const std::set<Engine>& engines) {
  std::string text = library_description() + ", " + this_processor().vectors();
  for (const Engine engine : engines) {
    if (entry_of(engine).arithmetic != nullptr) text += ", " + engine_name(engine);
  }
  const int n_thread = thread_count();
  return text + ", " + std::to_string(n_thread) + (n_thread == 1 ? " thread" : " threads");
}

double sgemm_speed() {
  constexpr Index n = 512;
  constexpr int n_round = 12;
  const std::vector<float> A(n * n, 0.5F), B(n * n, 0.25F);
  std::vector<float> C(n * n);
  double best = 0;
  for (int round = 0; round < n_round; ++round) {
    const double begin = processor_seconds();
    multiply_serial({A.data(), n, n, n}, Transpose::no, {B.data(), n, n, n}, Transpose::no,
                    {C.data(), n, n, n});
    best = std::max(best, 2.0 * n * n * n / (processor_seconds() - begin));
  }
  return best;
}

std::string kernel_warning(const std::string& better, std::optional<double> ratio) {
  if (ratio && *ratio < 1.1) return "";
  const std::string speed =
      ratio ? " was " + decimals(*ratio, 1) + " times as fast in a trial"
            : " (" + std::string(this_processor().widest()) + ") should be faster";
  return "OpenBLAS multiplies matrices with its kernel " + kernel_in_use() + "; " + better + speed +
         ": set OPENBLAS_CORETYPE=" + better + " before starting";
}

}  // namespace headscope::blas
