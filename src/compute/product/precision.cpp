#include "headscope/precision.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/number_text.hpp"
#include "compute/product/engines.hpp"

namespace headscope {

std::string precision_name(Precision precision) {
  switch (precision) {
    case Precision::high:
      return "high";
    case Precision::fast:
      return "fast";
    default:
      return "float32";
  }
}

std::optional<Precision> parse_precision(const std::string& name) {
  for (const Precision precision : {Precision::float32, Precision::high, Precision::fast}) {
    if (name == precision_name(precision)) return precision;
  }
  return std::nullopt;
}

std::string engine_name(Engine engine) {
  return entry_of(engine).name;
}

namespace {

constexpr double any_effect = std::numeric_limits<double>::infinity();

// How fast an engine multiplies weights, as a multiple of OpenBLAS's best kernel for the processor,
// packing included; the least of the shapes measured.
struct Speed {
  const char* vendor;
  int family;
  const char* widest;  // of the processor's instructions
  Engine engine;
  double of_float32;
};

// bench/README.md has the measurements. Xeons with AMX: two cores, three shapes of GPT-2 small. The
// other Xeons: one core, five shapes, a prototype of the same blocking; AVX2 alone with OpenBLAS's
// kernel Haswell. AMD: one core of an EPYC of Zen 4, four shapes, and with its AVX-512 hidden.
constexpr Speed speeds[] = {
    {"GenuineIntel", 6, "AMX", Engine::bfloat16_six, 1.4},
    {"GenuineIntel", 6, "AMX", Engine::bfloat16_three, 2.3},
    {"GenuineIntel", 6, "AMX", Engine::bfloat16_one, 3.9},
    {"GenuineIntel", 6, "AVX512-BF16", Engine::int16, 1.5},
    {"GenuineIntel", 6, "AVX512-BF16", Engine::bfloat16_one, 0.5},
    {"GenuineIntel", 6, "AVX512-VNNI", Engine::int16, 1.5},
    {"GenuineIntel", 6, "AVX2", Engine::int16, 1.4},
    {"AuthenticAMD", 25, "AVX512-BF16", Engine::int16, 1.9},
    {"AuthenticAMD", 25, "AVX512-BF16", Engine::bfloat16_one, 0.8},
    {"AuthenticAMD", 25, "AVX2", Engine::int16, 1.3},
};

double speed_of(Engine engine, const Processor& processor) {
  if (engine == Engine::float32) return 1;
  for (const Speed& speed : speeds) {
    if (processor.vendor == speed.vendor && processor.family == speed.family &&
        std::string_view(processor.widest()) == speed.widest && speed.engine == engine) {
      return speed.of_float32;
    }
  }
  return 0;
}

template <typename Predicate>
Engine fastest_of(const Processor& processor, const Predicate& is_exact_enough) {
  const EngineEntry* best = &entry_of(Engine::float32);
  for (const EngineEntry& entry : engines()) {
    if (!is_exact_enough(entry)) continue;
    if (speed_of(entry.engine, processor) > speed_of(best->engine, processor)) best = &entry;
  }
  return best->engine;
}

/// All entries if a sample is not worth it.
VocabularySample vocabulary_sample(Precision precision, Index d_vocab, std::uint64_t seed) {
  constexpr Index least_vocabulary = 4096, least_entries = 256, of_vocabulary = 50;
  if (precision != Precision::fast || d_vocab < least_vocabulary) return {};
  const Index count = std::max(least_entries, d_vocab / of_vocabulary);
  return {count, count, seed};
}

}  // namespace

Engines fastest_engines(Precision precision, const Processor& processor) {
  const auto fastest = [&](Precision of_all, bool again) {
    return fastest_of(processor, [&](const EngineEntry& entry) {
      return entry.precision <= of_all || (again && entry.high_up_to > 0);
    });
  };
  return {fastest(Precision::float32, false), fastest(precision, precision == Precision::high),
          fastest(std::min(precision, Precision::high), false)};
}

AblationPrecision ablation_precision(Precision precision, const Processor& processor, Index d_vocab,
                                     std::uint64_t seed) {
  const Engine differences = fastest_engines(precision, processor).differences;
  return {vocabulary_sample(precision, d_vocab, seed),
          precision == Precision::high ? entry_of(differences).high_up_to : any_effect};
}

std::string precision_summary(const Processor& processor) {
  constexpr Index gpt2_vocabulary = 50257;
  std::string text;
  for (const Precision precision : {Precision::float32, Precision::high, Precision::fast}) {
    const Engines engines = fastest_engines(precision, processor);
    const auto [sample, exact_above] = ablation_precision(precision, processor, gpt2_vocabulary, 0);
    text += "precision " + precision_name(precision) + ": products by " +
            engine_name(engines.differences);
    const double speed = speed_of(engines.differences, processor);
    if (speed > 1) text += ", " + number_text(speed, 2) + " times OpenBLAS's speed or more";
    if (exact_above < any_effect) {
      text += "; effects above " + number_text(exact_above, 2) + " times a typical one by " +
              engine_name(engines.passes);
    }
    if (!sample.is_whole()) {
      text += "; of GPT-2's vocabulary " + std::to_string(sample.n_probable) + " probable and " +
              std::to_string(sample.n_drawn) + " drawn entries";
    }
    text += "\n";
  }
  return text;
}

}  // namespace headscope
