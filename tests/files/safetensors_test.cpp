#include "files/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "headscope/error.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;

template <typename Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

class Safetensors : public testing::Test {
 protected:
  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("x.safetensors");

  void write(const std::string& header, const std::string& data) const {
    test::write_file(path_, bytes_of<std::uint64_t>({header.size()}) + header + data);
  }

  std::vector<float> read(const std::string& header, const std::string& data) const {
    write(header, data);
    const SafetensorsFile file(path_);
    std::size_t count = 1;
    for (const std::size_t extent : file.tensors().at(0).shape) count *= extent;
    std::vector<float> values(count);
    file.read(file.tensors().at(0), values);
    return values;
  }

  std::string error_of(const std::string& header, const std::string& data) const {
    return without_path(test::message_of<DataError>([&] { read(header, data); }));
  }

  std::string without_path(const std::string& error) const {
    EXPECT_TRUE(error.starts_with(path_)) << error;
    return error.substr(path_.size());
  }
};

TEST_F(Safetensors, ReadsEachFloatingPointType) {
  EXPECT_THAT(read(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                   bytes_of<float>({0.1F, -2})),
              ElementsAre(0.1F, -2.F));
  EXPECT_THAT(read(R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})",
                   bytes_of<double>({0.1, -2})),
              ElementsAre(0.1F, -2.F));
  // 1, -2, the largest, the smallest normal, the smallest subnormal, -0.
  EXPECT_THAT(read(R"({"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})",
                   bytes_of<std::uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x8000})),
              ElementsAre(1.F, -2.F, 65504.F, 0x1p-14F, 0x1p-24F, -0.F));
  EXPECT_THAT(read(R"({"a":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}})",
                   bytes_of<std::uint16_t>({0x3f80, 0xc000, 0x3dcd})),
              ElementsAre(1.F, -2.F, 0.10009765625F));
}

TEST_F(Safetensors, EveryFiniteFloat16IsReadExactly) {
  std::vector<std::uint16_t> stored;
  std::vector<float> expected;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 0x1F), fraction = bits & 0x3FF;
    if (exponent == 31) continue;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    stored.push_back(static_cast<std::uint16_t>(bits));
    expected.push_back(static_cast<float>(bits < 0x8000 ? magnitude : -magnitude));
  }
  const std::vector<float> values =
      read(R"({"a":{"dtype":"F16","shape":[63488],"data_offsets":[0,126976]}})", bytes_of(stored));
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << stored[i];
  }
}

TEST_F(Safetensors, MetadataIsNoTensor) {
  write(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}} )",
        bytes_of<float>({1}));
  EXPECT_EQ(SafetensorsFile(path_).tensors().size(), 1U);
}

TEST_F(Safetensors, TensorsMustLieInTheFile) {
  const std::string data = bytes_of<float>({1, 2});
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})", data),
            ":a: expected bytes within the file's 8 bytes of data, got 0 to 12");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", data),
            ":a: expected bytes within the file's 8 bytes of data, got 8 to 4");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", data),
            ":a: expected 12 bytes for shape [3] of F32, got 8");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                     R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                     data),
            ":b: expected bytes of its own, got bytes shared with a");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4],)"
                     R"("data_offsets":[0,8]}})",
                     data),
            ":a: shape [4294967296, 4294967296, 4] is too large for this machine");
}

TEST_F(Safetensors, HeadersMustMakeSense) {
  const std::string data = bytes_of<float>({1});
  const std::string entry = ":a: expected dtype, shape and two data_offsets in the header";
  EXPECT_EQ(error_of(R"({"a":1})", data), entry);
  EXPECT_EQ(error_of(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", data), entry);
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", data), entry);
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", data), entry);
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,1e99]}})", data), entry);
  EXPECT_EQ(error_of(R"({"a":{"dtype":"X7","shape":[1],"data_offsets":[0,4]}})", data),
            ":a: expected a known type, got X7");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})", data),
            ":a: expected type F16, BF16, F32 or F64, got I32");
  EXPECT_EQ(error_of("[1]", data), ": expected a JSON object as header, got array");
  EXPECT_EQ(error_of("{\"a\":", data),
            ": expected a JSON object as header, got unfinished or other text");
  EXPECT_EQ(error_of("{\"\xff\":1}", data),
            ": expected a JSON object as header, got unfinished or other text");
  EXPECT_EQ(error_of(std::string(100000, '['), data),
            ": expected a JSON object as header, got more than 32 levels");
}

TEST_F(Safetensors, HostileHeaderLengthsAreRefused) {
  const auto error_with_bytes = [&](const std::string& bytes) {
    test::write_file(path_, bytes);
    return without_path(test::message_of<DataError>([&] { SafetensorsFile{path_}; }));
  };
  EXPECT_EQ(error_with_bytes("1234567"), ": expected a safetensors file, got 7 bytes");
  EXPECT_EQ(error_with_bytes(bytes_of<std::uint64_t>({~std::uint64_t{0}}) + "{}"),
            ": expected a safetensors header of at most 2 bytes, got 18446744073709551615");
  EXPECT_EQ(error_with_bytes(bytes_of<std::uint64_t>({3}) + "{}"),
            ": expected a safetensors header of at most 2 bytes, got 3");
}

TEST_F(Safetensors, ATensorGivenTwiceIsRefused) {
  const std::string data = bytes_of<float>({1, 2});
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                     R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                     data),
            ": expected a JSON object as header, got the key \"a\" twice");
}

TEST_F(Safetensors, CutFilesAreErrorsAtEveryLength) {
  write(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", bytes_of<float>({1, 2}));
  const std::string whole = test::read_file(path_);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    test::write_file(path_, whole.substr(0, length));
    EXPECT_THROW(SafetensorsFile{path_}, DataError) << length;
  }
}

TEST_F(Safetensors, NonFiniteValuesAreNamed) {
  const std::string header = R"({"a":{"dtype":"F64","shape":[1,3],"data_offsets":[0,24]}})";
  EXPECT_EQ(error_of(header, bytes_of<double>({1, 2, NAN})),
            ":a: expected finite numbers, got NaN at [0, 2]");
  EXPECT_EQ(error_of(header, bytes_of<double>({1, 1e300, 2})),
            ":a: expected finite numbers, got inf at [0, 1]");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})",
                     bytes_of<std::uint16_t>({0xfc00})),
            ":a: expected finite numbers, got -inf at [0]");
}

}  // namespace
}  // namespace headscope
