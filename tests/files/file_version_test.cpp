#include "files/file_version.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>

#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;

/// The error of `FileVersion::during` for a change made while the file is read, without the path.
std::string said_of(const std::function<void(const std::string& path)>& change) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("input");
  test::write_file(path, "one version");
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const std::string message = test::message_of([&] {
    FileVersion(path).during([&] {
      change(path);
      return 0;
    });
  });
  return message.starts_with(path) ? message.substr(path.size()) : message;
}

TEST(FileVersion, PassesAFileThatStaysAsItIs) {
  EXPECT_EQ(said_of([](const std::string&) {}), "no error");
}

TEST(FileVersion, NoticesEveryKindOfChange) {
  const std::string changed = ": expected the file that was opened, got one changed since";
  EXPECT_EQ(said_of([](const std::string& path) { fs::resize_file(path, 3); }), changed);
  EXPECT_EQ(said_of([](const std::string& path) { test::write_file(path, "two version"); }),
            changed);
  EXPECT_EQ(said_of([](const std::string& path) {
              test::write_file(path + "2", "one version");
              fs::last_write_time(path + "2", fs::last_write_time(path));
              fs::rename(path + "2", path);
            }),
            changed);
  EXPECT_EQ(said_of([](const std::string& path) { fs::remove(path); }),
            ": cannot be opened: No such file or directory");
}

TEST(FileVersion, AChangeExplainsAnErrorOfReading) {
  EXPECT_EQ(said_of([](const std::string& path) {
              fs::resize_file(path, 3);
              throw DataError(path, "", "is damaged");
            }),
            ": expected the file that was opened, got one changed since");
  EXPECT_EQ(said_of([](const std::string& path) { throw DataError(path, "", "is damaged"); }),
            ": is damaged");
}

}  // namespace
}  // namespace headscope
