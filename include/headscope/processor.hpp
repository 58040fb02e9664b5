#pragma once

#include <string>

namespace headscope {

/// Vector instructions for matrix products that both the processor and the operating system
/// support.
struct Processor {
  std::string name;          ///< as the processor reports it; empty if it reports none
  bool avx2 = false;         ///< with FMA: 8 float32 at a time
  bool avx512 = false;       ///< F, DQ, BW and VL: 16 float32 at a time
  bool amx_bf16 = false;     ///< products of bfloat16 in tile registers, conversions by AVX-512
  bool avx_vnni = false;     ///< products of 16-bit integers with sums, 256 bits
  bool avx512_vnni = false;  ///< the same, 512 bits

  /// The widest of them: `AMX`, `AVX512-VNNI`, `AVX-512`, `AVX-VNNI`, `AVX2`, or
  /// what every processor of the architecture has: `SSE`, `NEON`, or empty where that is unknown.
  const char* widest() const;
  /// The widest vectors of float32: `AVX-512`, `AVX2`, or what every processor has.
  const char* vectors() const;
  /// The same processor without instructions wider than `widest`.
  /// @throws OptionError unless `widest` is one of the names that widest() gives.
  Processor at_most(const std::string& widest) const;
};

/// The current processor; without name and instructions if it is not x86-64. Asks Linux for the
/// tile registers of AMX, for the whole process.
///
/// For tests, the environment variable HEADSCOPE_PROCESSOR lowers it to `at_most` its value. Loops
/// that the compiler has made for several instruction sets, and OpenBLAS, do not heed the variable.
/// @throws OptionError if the variable has another value than the names that widest() gives.
const Processor& this_processor();

}  // namespace headscope
