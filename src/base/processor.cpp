#include "headscope/processor.hpp"

#include <array>
#include <cstdlib>

#include "base/text.hpp"
#include "headscope/error.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>
#include <cstring>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace headscope {

namespace {

#if defined(__x86_64__)
constexpr const char* narrowest = "SSE";
#elif defined(__aarch64__)
constexpr const char* narrowest = "NEON";
#else
constexpr const char* narrowest = "";
#endif

struct Instructions {
  const char* name;
  bool Processor::*has;
};
// Widest first.
constexpr std::array<Instructions, 5> instructions{{{"AMX", &Processor::amx_bf16},
                                                    {"AVX512-VNNI", &Processor::avx512_vnni},
                                                    {"AVX-512", &Processor::avx512},
                                                    {"AVX-VNNI", &Processor::avx_vnni},
                                                    {"AVX2", &Processor::avx2}}};

}  // namespace

const char* Processor::widest() const {
  for (const Instructions& set : instructions) {
    if (this->*set.has) return set.name;
  }
  return narrowest;
}

const char* Processor::vectors() const {
  if (avx512) return "AVX-512";
  return avx2 ? "AVX2" : narrowest;
}

Processor Processor::at_most(const std::string& widest) const {
  Processor lowered = *this;
  for (const Instructions& set : instructions) {
    if (widest == set.name) return lowered;
    lowered.*set.has = false;
  }
  if (widest == narrowest) return lowered;
  throw OptionError("HEADSCOPE_PROCESSOR", "expected one of " +
                                               joined(instructions, ", ", &Instructions::name) +
                                               ", " + narrowest + "; got \"" + widest + "\"");
}

namespace {

#if defined(__x86_64__)
struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool bit(std::uint64_t value, int index) {
  return (value >> index & 1) != 0;
}

// The register states that the operating system saves.
std::uint64_t saved_states() {
  constexpr int osxsave = 27;
  if (!bit(cpuid(1).ecx, osxsave)) return 0;
  std::uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

// Linux gives tile registers only to a process that asks for them.
bool may_use_tiles() {
#if defined(__linux__)
  constexpr int request_permission = 0x1023, tile_data = 18;  // asm/prctl.h, from Linux 5.16
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

std::string brand() {
  constexpr std::uint32_t first = 0x80000002;
  if (cpuid(0x80000000).eax < first + 2) return "";
  std::array<char, 49> text{};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Registers part = cpuid(first + i);
    std::memcpy(text.data() + std::size_t{16} * i, &part, 16);
  }
  const std::string name = text.data();
  const auto start = name.find_first_not_of(' ');
  return start == std::string::npos ? ""
                                    : name.substr(start, name.find_last_not_of(' ') - start + 1);
}

// Bits from Intel's Software Developer's Manual, volume 2A, CPUID, and volume 1, section 13.
Processor detected() {
  const Registers features = cpuid(1), extended = cpuid(7), extended_1 = cpuid(7, 1);
  const std::uint64_t saved = saved_states();
  const bool avx = bit(saved, 1) && bit(saved, 2);
  const bool avx512 = avx && bit(saved, 5) && bit(saved, 6) && bit(saved, 7);
  const bool tiles = bit(saved, 17) && bit(saved, 18) && bit(extended.edx, 24);
  Processor processor;
  processor.name = brand();
  processor.avx2 = avx && bit(extended.ebx, 5) && bit(features.ecx, 12);
  processor.avx512 = avx512 && bit(extended.ebx, 16) && bit(extended.ebx, 17) &&
                     bit(extended.ebx, 30) && bit(extended.ebx, 31);
  processor.amx_bf16 = tiles && bit(extended.edx, 22) && processor.avx512 &&
                       bit(extended_1.eax, 5) && may_use_tiles();
  processor.avx_vnni = processor.avx2 && bit(extended_1.eax, 4);
  processor.avx512_vnni = processor.avx512 && bit(extended.ecx, 11);
  return processor;
}
#else
Processor detected() {
  return {};
}
#endif

}  // namespace

const Processor& this_processor() {
  static const Processor processor = [] {
    const char* const most = std::getenv("HEADSCOPE_PROCESSOR");
    return most == nullptr ? detected() : detected().at_most(most);
  }();
  return processor;
}

}  // namespace headscope
