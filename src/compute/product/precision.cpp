#include "headscope/precision.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "compute/product/engines.hpp"
#include "headscope/error.hpp"
#include "headscope/processor.hpp"

namespace headscope {

std::string precision_name(Precision precision) {
  static constexpr std::array names{"float32", "high", "fast"};
  return names.at(static_cast<std::size_t>(precision));
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

std::string engine_option(Engine engine) {
  std::string word = engine_name(engine);
  std::erase(word, ' ');
  return word;
}

std::optional<Engine> parse_engine(const std::string& name) {
  for (const EngineEntry& entry : engines()) {
    if (name == entry.name || name == engine_option(entry.engine)) return entry.engine;
  }
  return std::nullopt;
}

std::vector<std::string> engine_options() {
  std::vector<std::string> words;
  for (const EngineEntry& entry : engines()) words.push_back(engine_option(entry.engine));
  return words;
}

namespace {

constexpr double any_effect = std::numeric_limits<double>::infinity();

// An engine replaces a more exact one if it is as many times as fast.
constexpr double worth_it = 1.1;

bool keeps(const EngineEntry& entry, Precision precision) {
  return entry.precision <= precision;
}

// High takes also engines that keep it for small changes: large ones are computed again.
bool keeps_differences(const EngineEntry& entry, Precision precision) {
  return keeps(entry, precision) || (precision == Precision::high && entry.high_up_to > 0);
}

// The engine of the logits affects losses in second order alone: `float32` takes what keeps `high`,
// and `high` what keeps `fast`.
bool keeps_logits(const EngineEntry& entry, Precision precision) {
  return keeps(entry, precision == Precision::float32 ? Precision::high : Precision::fast);
}

double speed_of(Engine engine, const EngineSpeeds& speeds) {
  if (engine == Engine::float32) return 1;
  const auto found = std::ranges::find(speeds, engine, &EngineSpeed::engine);
  return found == speeds.end() ? 0 : found->times_float32;
}

// engines() lists the more exact first.
template <typename Predicate>
Engine fastest_of(const EngineSpeeds& speeds, const Predicate& is_exact_enough) {
  Engine best = Engine::float32;
  for (const EngineEntry& entry : engines()) {
    if (is_exact_enough(entry) &&
        speed_of(entry.engine, speeds) >= worth_it * speed_of(best, speeds)) {
      best = entry.engine;
    }
  }
  return best;
}

template <typename Choose>
Engines engines_by(Precision precision, const Choose& choose) {
  return {
      .passes = choose([](const EngineEntry& entry) { return keeps(entry, Precision::float32); }),
      .differences =
          choose([&](const EngineEntry& entry) { return keeps_differences(entry, precision); }),
      .logits = choose([&](const EngineEntry& entry) { return keeps_logits(entry, precision); }),
      .gradients = choose([&](const EngineEntry& entry) {
        return keeps(entry, std::min(precision, Precision::high));
      }),
      .screening = choose([](const EngineEntry& /*entry*/) { return true; })};
}

/// All entries if a sample is not worth it.
VocabularySample vocabulary_sample(Precision precision, Index d_vocab, std::uint64_t seed) {
  constexpr Index least_vocabulary = 4096, least_entries = 256, of_vocabulary = 50;
  if (precision != Precision::fast || d_vocab < least_vocabulary) return {};
  const Index count = std::max(least_entries, d_vocab / of_vocabulary);
  return {count, count, seed};
}

}  // namespace

Engines fastest_engines(Precision precision, const EngineSpeeds& speeds) {
  return engines_by(
      precision, [&](const auto& is_exact_enough) { return fastest_of(speeds, is_exact_enough); });
}

Engines forced_engines(Precision precision, Engine engine) {
  if (!keeps_differences(entry_of(engine), precision)) {
    std::vector<std::string> exact;
    for (const EngineEntry& entry : engines()) {
      if (keeps_differences(entry, precision)) exact.push_back(engine_option(entry.engine));
    }
    throw OptionError("--engine", "expected an engine that keeps --precision " +
                                      precision_name(precision) + ": one of " +
                                      joined(exact, ", ") + "; got " + engine_option(engine));
  }
  return engines_by(precision, [&](const auto& is_exact_enough) {
    return is_exact_enough(entry_of(engine)) ? engine : Engine::float32;
  });
}

void check_engines(const Engines& engines, const std::string& place) {
  for (const Engine engine :
       {engines.passes, engines.differences, engines.logits, engines.gradients}) {
    const Arithmetic* const arithmetic = entry_of(engine).arithmetic;
    if (arithmetic == nullptr || arithmetic->has_instructions() ||
        arithmetic->portable_gives_same_bits()) {
      continue;
    }
    throw DataError(place, "",
                    "the run multiplies by " + engine_name(engine) +
                        ", whose instructions this processor (" + this_processor().widest() +
                        ") lacks; without them sums round differently");
  }
}

AblationPrecision ablation_precision(Precision precision, Engine differences, Index d_vocab,
                                     std::uint64_t seed) {
  return {vocabulary_sample(precision, d_vocab, seed),
          precision == Precision::high ? entry_of(differences).high_up_to : any_effect};
}

std::string speeds_text(const EngineSpeeds& speeds) {
  std::string text;
  for (const auto& [engine, times_float32] : speeds) {
    text += (text.empty() ? "" : ", ") + engine_name(engine) + " " + decimals(times_float32, 2) +
            (text.empty() ? " times float32's speed" : "");
  }
  return text;
}

std::string precision_summary(const EngineSpeeds& speeds) {
  constexpr Index gpt2_vocabulary = 50257;
  std::string text;
  for (const Precision precision : {Precision::float32, Precision::high, Precision::fast}) {
    const Engines engines = fastest_engines(precision, speeds);
    const auto [sample, exact_above] =
        ablation_precision(precision, engines.differences, gpt2_vocabulary, 0);
    text += "precision " + precision_name(precision) + ": products by " +
            engine_name(engines.differences);
    if (engines.differences != Engine::float32) {
      text += ", measured " + decimals(speed_of(engines.differences, speeds), 2) +
              " times as fast as float32";
    }
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
