#include "files/sha256.hpp"

#include <gtest/gtest.h>

#include "headscope/error.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

// Example messages of FIPS 180-4.
constexpr const char* digest_of_abc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* digest_of_million_a =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, AgreesWithThePublishedExamples) {
  Sha256 hash;
  hash.add(std::string("a"));
  hash.add(std::string("bc"));
  EXPECT_EQ(hash.finish(), digest_of_abc);
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const test::TemporaryDirectory folder;
  test::write_file(folder.file("a"), std::string(1000000, 'a'));
  EXPECT_EQ(file_sha256(folder.file("a")), digest_of_million_a);
}

TEST(Sha256, NamesAMissingFile) {
  EXPECT_EQ(test::message_of<DataError>([&] { file_sha256("no/such/file"); }),
            "no/such/file: cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace headscope
