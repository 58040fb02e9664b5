#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/hdf5_call.hpp"
#include "files/hdf5_file.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope::hdf5 {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

// Valid HDF5 files written to mislead a reader.
class Hdf5Hostile : public testing::Test {
 protected:
  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("hostile.h5");

  Handle create(const std::string& path) const {
    return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose};
  }

  static Handle simple_space(std::vector<hsize_t> shape) {
    return {H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose};
  }

  static Handle chunked(std::vector<hsize_t> chunk) {
    Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data());
    return list;
  }

  static Handle dataset(hid_t file, const char* name, hid_t type, hid_t space,
                        hid_t creation = H5P_DEFAULT) {
    return {H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose};
  }
};

TEST_F(Hdf5Hostile, GroupsWithoutEndAreRefused) {
  {
    const Handle file = create(path_);
    std::vector<Handle> open;
    for (int depth = 0; depth < 2000; ++depth) {
      const hid_t parent = open.empty() ? static_cast<hid_t>(file) : open.back();
      open.emplace_back(H5Gcreate2(parent, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    }
  }
  const InputFile file(path_);
  EXPECT_THAT(message_of([&] { file.groups(); }),
              HasSubstr("expected groups nested at most 32 deep, got more"));
}

TEST_F(Hdf5Hostile, AnObjectOfManyNamesIsListedOnce) {
  {
    const Handle file = create(path_);
    const Handle group(H5Gcreate2(file, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    dataset(group, "x", H5T_NATIVE_FLOAT, simple_space({1}));
    H5Lcreate_hard(file, "/", group, "loop", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(group, "x", file, "y", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/a/x", file, "z", H5P_DEFAULT, H5P_DEFAULT);
  }
  const InputFile file(path_);
  EXPECT_THAT(file.groups(), ElementsAre("a"));
  ASSERT_EQ(file.datasets().size(), 1U);
  EXPECT_EQ(file.datasets()[0].name, "a/x");
}

TEST_F(Hdf5Hostile, LinksIntoOtherFilesAreNotFollowed) {
  const std::string other = folder_.file("other.h5");
  {
    const Handle file = create(other);
    dataset(file, "secret", H5T_NATIVE_FLOAT, simple_space({1}));
  }
  {
    const Handle file = create(path_);
    H5Lcreate_external(other.c_str(), "/secret", file, "tokens", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(other.c_str(), "/", file, "tokenizer", H5P_DEFAULT, H5P_DEFAULT);
  }
  const InputFile file(path_);
  EXPECT_FALSE(file.has("tokens"));
  EXPECT_FALSE(file.has("tokenizer/secret"));
  EXPECT_NE(message_of([&] { file.read_reals("tokens"); }), "no error");
  EXPECT_NE(message_of([&] { file.read_reals("tokenizer/secret"); }), "no error");
  EXPECT_NE(message_of([&] { file.attribute_names("tokenizer"); }), "no error");
}

TEST_F(Hdf5Hostile, AMissingChunkIsAnErrorNotZeros) {
  {
    const Handle file = create(path_);
    const Handle made = dataset(file, "x", H5T_NATIVE_FLOAT, simple_space({5, 5}), chunked({4, 4}));
    const std::array<hsize_t, 2> start{0, 0}, count{5, 4};
    const Handle part = simple_space({5, 5});
    H5Sselect_hyperslab(part, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    const std::vector<float> values(20, 1);
    H5Dwrite(made, H5T_NATIVE_FLOAT, simple_space({20}), part, H5P_DEFAULT, values.data());
  }
  const InputFile file(path_);
  EXPECT_THAT(message_of([&] { file.read_reals("x"); }),
              HasSubstr("expected 4 chunks of data for shape [5, 5], got 2"));
}

TEST_F(Hdf5Hostile, OneTextUnderManyElementsIsRefused) {
  {
    const Handle file = create(path_);
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type, H5T_VARIABLE);
    const std::string text(10000, 'x');
    const char* const pointer = text.c_str();
    const Handle one = dataset(file, "one", type, simple_space({1}), chunked({1}));
    H5Dwrite(one, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &pointer);
    H5Fflush(file, H5F_SCOPE_LOCAL);
    const hsize_t origin = 0;
    std::uint32_t filters = 0;
    std::string stored(16, '\0'), repeated;
    ASSERT_GE(H5Dread_chunk(one, H5P_DEFAULT, &origin, &filters, stored.data()), 0);
    for (int i = 0; i < 1000; ++i) repeated += stored;
    const Handle many = dataset(file, "many", type, simple_space({1000}), chunked({1000}));
    H5Dwrite_chunk(many, H5P_DEFAULT, 0, &origin, repeated.size(), repeated.data());
  }
  const InputFile file(path_);
  EXPECT_EQ(file.read_strings("one")[0].size(), 10000U);
  EXPECT_THAT(message_of([&] { file.read_strings("many"); }),
              HasSubstr("cannot be read: the file is damaged or cut short"));
}

TEST_F(Hdf5Hostile, AnAttributeInPlaceOfTheListOfScalesIsRefused) {
  {
    const Handle file = create(path_);
    const Handle space = simple_space({2});
    const Handle made = dataset(file, "x", H5T_NATIVE_FLOAT, space);
    const Handle list(
        H5Acreate2(made, "DIMENSION_LIST", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    const std::array<std::int64_t, 2> values{0x4141414141414141, 0x4141414141414141};
    H5Awrite(list, H5T_NATIVE_INT64, values.data());
  }
  const InputFile file(path_);
  EXPECT_THAT(message_of([&] { file.scales("x"); }),
              HasSubstr("expected a list of dimension scales for each axis, got another "
                        "DIMENSION_LIST"));
}

TEST_F(Hdf5Hostile, OnlyTheClassMakesADatasetAScale) {
  {
    const Handle file = create(path_);
    for (const char* const name : {"none", "empty", "scale"}) {
      const Handle made = dataset(file, name, H5T_NATIVE_FLOAT, simple_space({2}));
      if (name == std::string("scale")) H5DSset_scale(made, "scale");
      if (name == std::string("empty")) H5LTset_attribute_string(file, name, "CLASS", "");
    }
  }
  const InputFile file(path_);
  EXPECT_FALSE(file.is_scale("none"));
  EXPECT_FALSE(file.is_scale("empty"));
  EXPECT_TRUE(file.is_scale("scale"));
}

}  // namespace
}  // namespace headscope::hdf5
