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
    case Engine::bfloat16_three:
      return "bfloat16 x 3";
    case Engine::int8_three:
      return "int8 x 3";
    case Engine::bfloat16_one:
      return "bfloat16";
    default:
      return "float32";
  }
}

bool has_low_precision_products() {
#ifdef HEADSCOPE_WITH_ONEDNN
  return true;
#else
  return false;
#endif
}

// Speeds relative to float32: AMX about 7 (bfloat16) and 15 (int8), AVX512-BF16 about 2.
Engine fastest_engine(Precision precision, const Processor& processor) {
  if (precision == Precision::float32) return Engine::float32;
  const bool one_bfloat16 = processor.amx_bf16 || processor.avx512_bf16;
  if (precision == Precision::fast && one_bfloat16) return Engine::bfloat16_one;
  if (processor.amx_int8) return Engine::int8_three;
  return processor.amx_bf16 ? Engine::bfloat16_three : Engine::float32;
}

Engine fastest_pass_engine(Precision precision, const Processor& processor) {
  const bool exact = precision == Precision::float32 || !processor.amx_bf16;
  return exact ? Engine::float32 : Engine::bfloat16_three;
}

}  // namespace headscope
