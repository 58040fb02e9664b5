#include "files/read_file.hpp"

#include <gtest/gtest.h>

#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

TEST(ReadFile, GivesAllBytesOfAFileOrItsFirst) {
  const test::TemporaryDirectory folder;
  const std::string bytes = std::string("a\0b\r\n", 5) + std::string(100000, 'x');
  test::write_file(folder.file("file"), bytes);
  EXPECT_EQ(read_file(folder.file("file")), bytes);
  std::string first;
  read_blocks(
      folder.file("file"), [&](std::string_view block) { first += block; }, 70000);
  EXPECT_EQ(first, bytes.substr(0, 70000));
}

TEST(ReadFile, SaysWhyAFileCannotBeOpened) {
  const test::TemporaryDirectory folder;
  const std::string missing = folder.file("none");
  EXPECT_EQ(test::message_of([&] { read_file(missing); }),
            missing + ": cannot be opened: No such file or directory");
  EXPECT_EQ(test::message_of([&] { read_file(folder.path()); }),
            folder.path() + ": expected a file, got a folder");
}

}  // namespace
}  // namespace headscope
