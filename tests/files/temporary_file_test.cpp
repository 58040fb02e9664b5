#include "files/temporary_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "support/message_of.hpp"

namespace headscope {
namespace {

/// The variable TMPDIR with another value while this object lives.
class TemporaryFolderVariable {
 public:
  explicit TemporaryFolderVariable(const char* value) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", value, 1);
  }
  ~TemporaryFolderVariable() {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }
  TemporaryFolderVariable(const TemporaryFolderVariable&) = delete;
  TemporaryFolderVariable& operator=(const TemporaryFolderVariable&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST(TemporaryFile, AnEmptyVariableIsAsOneThatIsNotSet) {
  const TemporaryFolderVariable empty("");
  EXPECT_EQ(test::message_of([] { TemporaryFile(); }), "no error");
}

TEST(TemporaryFile, AFolderThatIsNotThereIsNamed) {
  const TemporaryFolderVariable absent("/absent");
  EXPECT_EQ(test::message_of([] { TemporaryFile(); }),
            "/absent: expected a folder for temporary files (TMPDIR), got none");
}

}  // namespace
}  // namespace headscope
