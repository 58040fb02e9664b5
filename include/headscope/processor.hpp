#pragma once

#include <string>

namespace headscope {

/// Vector instructions for matrix products that both the processor and the operating system
/// support.
struct Processor {
  std::string name;          ///< as the processor reports it; empty if it reports none
  bool avx2 = false;         ///< with FMA: 8 float32 at a time
  bool avx512 = false;       ///< F, DQ, BW and VL: 16 float32 at a time
  bool avx512_bf16 = false;  ///< products of bfloat16 in AVX-512 registers
  bool amx_bf16 = false;     ///< products of bfloat16 in tile registers

  /// The widest of them: `AMX`, `AVX512-BF16`, `AVX-512`, `AVX2`, or `SSE` for none.
  const char* widest() const;
};

/// The current processor; without name and instructions if it is not x86-64. Asks Linux for the
/// tile registers of AMX, for the whole process.
const Processor& this_processor();

}  // namespace headscope
