#include "compute/product/kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "headscope/blas.hpp"
#include "support/message_of.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

Processor with(bool avx2, bool avx512 = false, bool amx = false) {
  Processor processor;
  processor.avx2 = avx2;
  processor.avx512 = avx512;
  processor.amx_bf16 = amx;
  return processor;
}

// `current` is the kernel that OpenBLAS 0.3.21 chooses; `better` is the one it should have chosen.
struct KernelCase {
  const char* processor;
  Processor features;
  const char* current;
  std::optional<std::string> better;
};

TEST(BetterKernel, IsTheWidestOfEachProcessorOfTheLastTenYears) {
  const std::vector<KernelCase> cases{
      {"Intel Broadwell", with(true), "Haswell", {}},
      {"Intel Goldmont", with(false), "Nehalem", {}},
      {"Intel Skylake", with(true), "Haswell", {}},
      {"Intel Skylake-SP", with(true, true), "SkylakeX", {}},
      {"Intel Cascade Lake", with(true, true), "SkylakeX", {}},
      {"Intel Cooper Lake", with(true, true), "Cooperlake", {}},
      {"Intel Ice Lake", with(true, true), "SkylakeX", {}},
      {"Intel Rocket Lake", with(true, true), "SkylakeX", {}},
      {"Intel Alder Lake", with(true), "Haswell", {}},
      {"Intel Sapphire Rapids", with(true, true, true), "SkylakeX", {}},
      {"Intel Emerald Rapids", with(true, true, true), "Prescott", "SkylakeX"},
      {"Intel Granite Rapids", with(true, true, true), "Prescott", "SkylakeX"},
      {"Intel Sierra Forest", with(true), "Prescott", "Haswell"},
      {"Intel Arrow Lake", with(true), "Prescott", "Haswell"},
      {"AMD Excavator", with(true), "Excavator", {}},
      {"AMD Zen", with(true), "Zen", {}},
      {"AMD Zen 2", with(true), "Zen", {}},
      {"AMD Zen 3", with(true), "Zen", {}},
      {"AMD Zen 4", with(true, true), "Zen", "SkylakeX"},
      {"AMD Zen 5", with(true, true), "Prescott", "SkylakeX"},
      {"a virtual machine that hides AVX-512", with(true), "Zen", {}},
      {"a virtual machine that hides AVX2", with(false), "Prescott", {}},
  };
  for (const KernelCase& each : cases) {
    EXPECT_EQ(blas::better_kernel(each.features, each.current), each.better) << each.processor;
  }
}

TEST(Processor, HasWhatLinuxSaysOfIt) {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto from = text.find("\nflags");
  if (from == std::string::npos) GTEST_SKIP() << "/proc/cpuinfo has no flags";
  const std::string flags = text.substr(from, text.find('\n', from + 1) - from) + " ";
  const auto has = [&](const std::string& flag) {
    return flags.find(" " + flag + " ") != std::string::npos;
  };
  if (std::getenv("HEADSCOPE_PROCESSOR") != nullptr) GTEST_SKIP() << "the processor is lowered";
  const Processor processor = this_processor();
  EXPECT_EQ(processor.avx2, has("avx2") && has("fma"));
  EXPECT_EQ(processor.avx512,
            has("avx512f") && has("avx512dq") && has("avx512bw") && has("avx512vl"));
  EXPECT_EQ(processor.amx_bf16, has("amx_bf16") && has("avx512_bf16") && processor.avx512);
  EXPECT_EQ(processor.avx_vnni, has("avx_vnni"));
  EXPECT_EQ(processor.avx512_vnni, has("avx512_vnni"));
  EXPECT_THAT(text, HasSubstr(processor.name));
}

TEST(Processor, IsLoweredToItsNarrowerInstructions) {
  Processor all = with(true, true, true);
  all.avx_vnni = all.avx512_vnni = true;
  EXPECT_STREQ(all.widest(), "AMX");
  for (const char* const widest : {"AMX", "AVX512-VNNI", "AVX-512", "AVX-VNNI", "AVX2"}) {
    all = all.at_most(widest);
    EXPECT_STREQ(all.widest(), widest);
  }
  EXPECT_STREQ(with(true).at_most("AVX-512").widest(), "AVX2") << "nothing is added";
  const std::string narrowest = Processor().widest();
  EXPECT_EQ(all.at_most(narrowest).widest(), narrowest);
  EXPECT_EQ(test::message_of([&] { all.at_most("avx2"); }),
            "HEADSCOPE_PROCESSOR: expected one of AMX, AVX512-VNNI, AVX-512, AVX-VNNI, AVX2, " +
                narrowest + "; got \"avx2\"");
}

class Restart : public testing::Test {
 protected:
  // Runs the program with an OpenBLAS that does not recognise the processor.
  // `environment` holds NAME=VALUE entries.
  test::Finished run(std::vector<std::string> arguments,
                     const std::vector<std::string>& environment = {},
                     std::vector<std::string> before = {}) const {
    std::vector<std::string> call{"env",
                                  "-u",
                                  "OPENBLAS_CORETYPE",
                                  "-u",
                                  "GOMP_SPINCOUNT",
                                  "-u",
                                  "OMP_WAIT_POLICY",
                                  "ASAN_OPTIONS=verify_asan_link_order=0",
                                  "STARTS_FILE=" + starts_file(),
                                  "LD_PRELOAD=" HEADSCOPE_OLD_OPENBLAS};
    call.insert(call.end(), environment.begin(), environment.end());
    call.insert(call.end(), before.begin(), before.end());
    const std::vector<std::string> program = test::headscope_call(arguments);
    call.insert(call.end(), program.begin(), program.end());
    return test::run_program(call);
  }

  /// A line per start of a program: whether it ignored SIGINT.
  std::string starts() const { return test::read_file(starts_file()); }
  std::ptrdiff_t n_start() const { return std::ranges::count(starts(), '\n'); }

  void SetUp() override {
    if (!best_) GTEST_SKIP() << "this processor has no kernel better than Prescott";
  }

  std::optional<std::string> best_ = blas::better_kernel(this_processor(), "Prescott");

 private:
  std::string starts_file() const { return folder_.file("starts"); }

  test::TemporaryDirectory folder_;
};

TEST_F(Restart, HappensOnceAndTakesTheBestKernel) {
  const test::Finished version = run({"--version"});
  EXPECT_EQ(version.exit_status, 0);
  EXPECT_THAT(version.out, HasSubstr(" " + *best_));
  EXPECT_EQ(n_start(), 2);
}

TEST_F(Restart, DoesNotHappenWhereNothingIsToBeSet) {
  run({"--version"}, {"OPENBLAS_CORETYPE=" + *best_, "GOMP_SPINCOUNT=1", "OPENBLAS_NUM_THREADS=1",
                      "OMP_STACKSIZE=8M"});
  EXPECT_EQ(n_start(), 1);
}

TEST_F(Restart, KeepsArgumentsAndExitStatus) {
  const test::Finished run_of = run({"run", "--analyses", "a  'b", "--output", ""});
  EXPECT_EQ(run_of.exit_status, 2);
  EXPECT_THAT(run_of.err, HasSubstr("\"a  'b\""));
}

TEST_F(Restart, KeepsStreams) {
  const test::Finished config = run({"run", "--output", "/nowhere", "--config", "/dev/stdin"}, {},
                                    {"sh", "-c", "echo unheard = 1 | exec \"$@\"", "sh"});
  EXPECT_EQ(config.exit_status, 2);
  EXPECT_THAT(config.err, HasSubstr("unheard"));
}

TEST_F(Restart, KeepsIgnoredSignals) {
  const test::Finished version =
      run({"--version"}, {}, {"sh", "-c", "trap '' INT; kill -INT $$; exec \"$@\"", "sh"});
  EXPECT_EQ(version.exit_status, 0);
  EXPECT_EQ(n_start(), 3) << "the shell's and two of the program";
  EXPECT_THAT(starts(), EndsWith("\nignored\nignored\n"));
}

TEST_F(Restart, LeavesTheKernelThatTheUserSetAndWarns) {
  const test::Finished version = run({"--version"}, {"OPENBLAS_CORETYPE=Prescott"});
  EXPECT_THAT(version.out, EndsWith(" Prescott\n"));
  // SSE against at least AVX2.
  EXPECT_THAT(version.out, HasSubstr("kernel Prescott; " + *best_ + " was "));
  EXPECT_GT(std::stod(version.out.substr(version.out.find(" was ") + 5)), 1.5) << version.out;
  test::TemporaryDirectory folder;
  const test::Finished analysed =
      run({"run", "--model", HEADSCOPE_PROJECT_DIR "/data/planted-model.h5", "--analyses",
           "parameters", "--nulls", "1", "--output", folder.file("out"), "--quiet"},
          {"OPENBLAS_CORETYPE=Prescott"});
  EXPECT_EQ(analysed.exit_status, 0);
  EXPECT_THAT(analysed.err,
              HasSubstr("warning: OpenBLAS multiplies matrices with its kernel Prescott; "));
  EXPECT_THAT(analysed.err, HasSubstr("set OPENBLAS_CORETYPE=" + *best_));
  const test::Finished pruned = run({"prune", HEADSCOPE_PROJECT_DIR "/data/planted-model.h5",
                                     folder.file("pruned.h5"), "--heads", "L0H0"},
                                    {"OPENBLAS_CORETYPE=Prescott"});
  const test::Finished merged =
      run({"merge", folder.path(), "--output", folder.path()}, {"OPENBLAS_CORETYPE=Prescott"});
  EXPECT_EQ(pruned.exit_status, 0);
  EXPECT_THAT(pruned.err, HasSubstr("set OPENBLAS_CORETYPE=" + *best_));
  EXPECT_THAT(merged.err, HasSubstr("set OPENBLAS_CORETYPE=" + *best_));
}

TEST_F(Restart, IsDoneWithoutWhereTheProgramCannotBeOpenedAgain) {
#ifdef HEADSCOPE_SANITIZED
  GTEST_SKIP() << "sanitizers read their options in /proc";
#endif
  if (test::run_program({"unshare", "-m", "true"}).exit_status != 0) {
    GTEST_SKIP() << "/proc cannot be hidden: no mount namespace can be made here";
  }
  const test::Finished version =
      run({"--version"}, {},
          {"unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"});
  EXPECT_EQ(version.exit_status, 0) << version.err;
  EXPECT_THAT(version.out, EndsWith(" Prescott\n"));
}

TEST_F(Restart, IsDoneWithoutWhereTheLoaderIsTheProgram) {
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
  if (!std::filesystem::exists(loader)) GTEST_SKIP() << loader << " is absent";
  const test::Finished version = run({"--version"}, {}, {loader});
  EXPECT_EQ(version.exit_status, 0) << version.err;
  EXPECT_THAT(version.out, EndsWith(" Prescott\n"));
}

TEST(Version, SaysWhatEachPrecisionMeansOnThisMachine) {
  const test::Finished here = test::run_headscope({"--version"});
  EXPECT_THAT(here.out, HasSubstr("\nprecision float32: products by "));
  const bool by_int16 = here.out.find("precision high: products by int16") != std::string::npos;
  EXPECT_EQ(here.out.find("effects above 3 times a typical one by float32") != std::string::npos,
            by_int16);
  EXPECT_EQ(here.out.find(" times as fast as float32") != std::string::npos,
            here.out.find("precision fast: products by float32") == std::string::npos);
  std::vector<std::string> lowered{"env",
                                   std::string("HEADSCOPE_PROCESSOR=") + Processor().widest()};
  const std::vector<std::string> call = test::headscope_call({"--version"});
  lowered.insert(lowered.end(), call.begin(), call.end());
  const std::string out = test::run_program(lowered).out;
  EXPECT_THAT(out, HasSubstr("\nprecision float32: products by float32\n"
                             "precision high: products by float32\n"
                             "precision fast: products by float32; of GPT-2's vocabulary 1005 "
                             "probable and 1005 drawn entries\n"));
}

TEST(KernelWarning, GivesTheRatioMeasuredAndIsSilentWithoutAGain) {
  const std::string warning = blas::kernel_warning("SkylakeX", 2.04);
  EXPECT_THAT(warning, HasSubstr("its kernel " + blas::kernel_in_use() +
                                 "; SkylakeX was 2.0 times as fast in a trial: set "
                                 "OPENBLAS_CORETYPE=SkylakeX before starting"));
  EXPECT_EQ(blas::kernel_warning("SkylakeX", 1.05), "");
  EXPECT_THAT(blas::kernel_warning("SkylakeX", {}), HasSubstr("should be faster"));
  EXPECT_THAT(blas::library_description(), EndsWith(blas::kernel_in_use()));
}

}  // namespace
}  // namespace headscope
