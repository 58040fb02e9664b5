#include "headscope/pass_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

PassLabel label_of_seed(const std::string& seed) {
  PassLabel label;
  label.identity = {{"--seed", seed}};
  label.n_pass = 2;
  return label;
}

TEST(PassFiles, ADamagedSavedFileSaysHowToRepeatItsPass) {
  const test::TemporaryDirectory folder;
  PassFolder passes(folder.path(), label_of_seed("1"));
  const std::string saved = passes.saved_path(2), finished = passes.finished_path(1, 1);
  passes.finish(1, 4, {});
  passes.save(2, 3, {});
  EXPECT_EQ(passes.read_saved(2).label.n_done, 3U);
  const std::string damaged = ": cannot be read: the file is damaged or cut short";
  for (const std::uintmax_t size : {fs::file_size(saved) / 2, std::uintmax_t{0}}) {
    fs::resize_file(saved, size);
    const std::string expected = saved + damaged + "; remove it to repeat pass 2";
    EXPECT_EQ(test::message_of<DataError>([&] { passes.read_saved(2); }), expected);
    EXPECT_EQ(test::message_of<DataError>([&] { read_pass_label(saved); }), expected);
  }
  fs::resize_file(finished, fs::file_size(finished) / 2);
  EXPECT_EQ(test::message_of<DataError>([&] { passes.read_finished(1, 1); }), finished + damaged);
}

TEST(PassFiles, ASavedFileOfAnotherRunIsNotToBeRemoved) {
  const test::TemporaryDirectory folder;
  PassFolder passes(folder.path(), label_of_seed("1"));
  PassFolder(folder.path(), label_of_seed("2")).save(1, 3, {});
  EXPECT_EQ(test::message_of<DataError>([&] { passes.read_saved(1); }),
            passes.saved_path(1) + ": --seed is 2, but 1 in this run");
}

}  // namespace
}  // namespace headscope
