#include "files/text_file.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/message_of.hpp"

namespace headscope {
namespace {

TEST(TextFile, AnErrorOfReadingIsNotTheEndOfTheText) {
  // The kernel refuses to read the unmapped first bytes of a process.
  EXPECT_EQ(test::message_of([] { TextFile("/proc/self/mem", "utf-8"); }),
            "/proc/self/mem: cannot be read");
  TemporaryFile copy;
  copy.append("one line\n");
  TextLine line;
  const auto text = copy.open();
  EXPECT_TRUE(read_line(*text, "text.gz", line));
  EXPECT_FALSE(read_line(*text, "text.gz", line));
  // A negative offset, which pread refuses.
  const auto unreadable = copy.open(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(test::message_of([&] { read_line(*unreadable, "text.gz", line); }),
            "text.gz: cannot be read");
}

}  // namespace
}  // namespace headscope
