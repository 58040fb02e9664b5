#include "headscope/precision.hpp"

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
  switch (engine) {
    case Engine::bfloat16_six:
      return "bfloat16 x 6";
    case Engine::bfloat16_three:
      return "bfloat16 x 3";
    case Engine::bfloat16_one:
      return "bfloat16";
    default:
      return "float32";
  }
}

// Speeds relative to float32: with AMX 1.4 to 2 (six products), 2.3 to 3 (three) and 4 to 7 (one);
// with AVX512-BF16 about 2 (one) by the number of its instructions.
Engine fastest_engine(Precision precision, const Processor& processor) {
  if (precision == Precision::fast && (processor.amx_bf16 || processor.avx512_bf16)) {
    return Engine::bfloat16_one;
  }
  if (!processor.amx_bf16) return Engine::float32;
  return precision == Precision::float32 ? Engine::bfloat16_six : Engine::bfloat16_three;
}

Engine fastest_gradient_engine(Precision precision, const Processor& processor) {
  return fastest_engine(precision == Precision::fast ? Precision::high : precision, processor);
}

}  // namespace headscope
