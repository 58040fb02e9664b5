#include <gtest/gtest.h>

#include "subprocess.hpp"
#include "temporary_directory.hpp"

namespace headscope {
namespace {

/// Most memory that a run over so many of the stories holds at once, KiB.
double peak_memory(const std::string& n_document) {
  const testing::TemporaryDirectory folder;
  const testing::Finished finished = testing::run_headscope(
      {"run", "--model", HEADSCOPE_PROJECT_DIR "/data/planted-model.h5", "--corpus",
       HEADSCOPE_PROJECT_DIR "/data/stories.conllu", "--analyses",
       "correlation,classification,attention", "--max-documents", n_document, "--bootstrap", "20",
       "--threads", "1", "--figures", "svg", "--quiet", "--output", folder.path()});
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  return static_cast<double>(finished.peak_kib);
}

TEST(Memory, StaysTheSameForTenTimesTheCorpus) {
  const double few = peak_memory("30"), many = peak_memory("300");
  EXPECT_LT(many, 1.05 * few) << few << " KiB for 30 documents";
}

}  // namespace
}  // namespace headscope
