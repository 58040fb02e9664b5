#include "files/hdf5_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "headscope/error.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope::hdf5 {
namespace {

using test::message_of;
using testing::ElementsAre;

class Hdf5File : public testing::Test {
 protected:
  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("file.h5");
};

std::size_t unchanged(unsigned, std::size_t, const unsigned*, std::size_t n_byte, std::size_t*,
                      void**) {
  return n_byte;
}

TEST_F(Hdf5File, NamesAFilterThatIsNotInstalled) {
  constexpr H5Z_filter_t number = 399;
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, number, 1, 1, "squash", nullptr, nullptr, unchanged};
  ASSERT_GE(H5Zregister(&filter), 0);
  const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t size = 3;
  const hid_t space = H5Screate_simple(1, &size, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 1, &size);
  H5Pset_filter(creation, number, H5Z_FLAG_MANDATORY, 0, nullptr);
  const std::array<double, 3> values{1, 2, 3};
  const hid_t dataset =
      H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
  EXPECT_THAT(InputFile(path_).read_reals("data").values, ElementsAre(1, 2, 3));
  ASSERT_GE(H5Zunregister(number), 0);
  EXPECT_THAT(
      message_of([&] { InputFile(path_).read_reals("data"); }),
      testing::HasSubstr("data: is compressed by the HDF5 filter 399 (squash), which is not "
                         "installed"));
}

TEST_F(Hdf5File, ReadsBackWhatItWrote) {
  OutputFile out(path_);
  out.write("a/reals", {2, 3}, std::vector<double>{1, 2, 3, 4, 5, -0.1});
  out.write("a/floats", {2}, std::vector<float>{0.1F, -3.F});
  out.write("whole", {}, std::vector<std::int64_t>{-7});
  out.write("bytes", {3}, std::vector<std::uint8_t>{0, 1, 255});
  out.write("words", {2}, std::vector<std::string>{"naïve", ""});
  out.write("none", {0, 4}, std::vector<double>{});
  out.publish();

  const InputFile in(path_);
  const Array reals = in.read_reals("a/reals");
  EXPECT_EQ(reals.shape, (Shape{2, 3}));
  EXPECT_THAT(reals.values, ElementsAre(1, 2, 3, 4, 5, -0.1));
  std::vector<float> floats(2);
  in.read("a/floats", floats);
  EXPECT_THAT(floats, ElementsAre(0.1F, -3.F));
  EXPECT_THAT(in.read_integers("whole"), ElementsAre(-7));
  EXPECT_THAT(in.read_integers("bytes"), ElementsAre(0, 1, 255));
  EXPECT_THAT(in.read_strings("words"), ElementsAre("naïve", ""));
  EXPECT_EQ(in.read_reals("none").shape, (Shape{0, 4}));
}

TEST_F(Hdf5File, EqualContentsMakeEqualFiles) {
  const auto written = [&] {
    OutputFile out(path_);
    out.create_group("empty/inner");
    out.write("a/b/reals", {2}, std::vector<double>{1, 2});
    out.write("words", {1}, std::vector<std::string>{"x"});
    out.set_attribute("a", "name", std::string("y"));
    out.publish();
    return test::read_file(path_);
  };
  const std::string first = written();
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 notes times in seconds
  EXPECT_TRUE(written() == first);
}

TEST_F(Hdf5File, ListsDatasetsAndGroupsInDepth) {
  OutputFile out(path_);
  out.create_group("empty/inner");
  out.write("a/b/c", {2}, std::vector<double>{1, 2});
  out.write("a/text", {}, std::vector<std::string>{"x"});
  out.publish();

  const InputFile in(path_);
  std::vector<std::string> seen;
  for (const DatasetInfo& info : in.datasets()) {
    seen.push_back(info.name + " " + info.type + " " + shape_text(info.shape));
  }
  EXPECT_THAT(seen, ElementsAre("a/b/c float64 [2]", "a/text text []"));
  EXPECT_THAT(in.groups(), ElementsAre("a", "a/b", "empty", "empty/inner"));
  EXPECT_EQ(in.datasets("a/b").at(0).name, "a/b/c");
  EXPECT_TRUE(in.has("a/b"));
  EXPECT_TRUE(in.has("a/b/c"));
  EXPECT_FALSE(in.has("a/x/c"));
}

TEST_F(Hdf5File, AttributesKeepTheirTypes) {
  OutputFile out(path_);
  out.write("data", {1}, std::vector<double>{1});
  const std::vector<std::pair<std::string, Attribute>> attributes{
      {"count", std::int64_t{12}},
      {"name", std::string("GPT-2 ★")},
      {"ratio", 0.25},
      {"ratios", std::vector<double>{1.5, 2.5}},
      {"values", std::vector<std::int64_t>{1, 2}},
      {"words", std::vector<std::string>{"a", "bc"}}};
  for (const auto& [name, value] : attributes) {
    out.set_attribute("data", name, value);
    out.set_attribute("", name, value);
  }
  out.set_attribute("data", "count", std::int64_t{13});
  out.publish();

  const InputFile in(path_);
  EXPECT_THAT(in.attribute_names(""),
              ElementsAre("count", "name", "ratio", "ratios", "values", "words"));
  for (const auto& [name, value] : attributes) {
    EXPECT_EQ(in.attribute("", name), value) << name;
  }
  EXPECT_EQ(in.attribute("data", "count"), Attribute(std::int64_t{13}));
  EXPECT_EQ(in.attribute("data", "missing"), std::nullopt);
}

TEST_F(Hdf5File, DimensionScalesNameEachAxis) {
  OutputFile out(path_);
  out.write("group/layer", {2}, std::vector<std::int64_t>{0, 1});
  out.write("group/head", {3}, std::vector<std::int64_t>{0, 1, 2});
  out.write("group/score", {2, 3}, std::vector<double>(6, 1.0));
  out.make_scale("group/layer");
  out.make_scale("group/head");
  out.attach_scale("group/score", 0, "group/layer");
  out.attach_scale("group/score", 1, "group/head");
  out.publish();

  const InputFile in(path_);
  EXPECT_TRUE(in.is_scale("group/layer"));
  EXPECT_FALSE(in.is_scale("group/score"));
  EXPECT_THAT(in.scales("group/score"), ElementsAre("group/layer", "group/head"));
}

TEST_F(Hdf5File, NothingAppearsBeforePublish) {
  std::ofstream(path_) << "old";
  {
    OutputFile out(path_);
    out.write("data", {1}, std::vector<double>{1});
  }
  EXPECT_THAT(folder_.files(), ElementsAre("file.h5"));
  EXPECT_EQ(std::filesystem::file_size(path_), 3U);
  OutputFile out(path_);
  out.write("data", {1}, std::vector<double>{1});
  out.publish();
  EXPECT_THAT(folder_.files(), ElementsAre("file.h5"));
  EXPECT_THAT(InputFile(path_).read_reals("data").values, ElementsAre(1));
}

TEST_F(Hdf5File, UnwritablePlacesAreNamed) {
  const std::string missing = folder_.file("no/such/file.h5");
  EXPECT_EQ(message_of([&] { OutputFile out(missing); }),
            missing + ": cannot be written: No such file or directory");
  const std::string folder = folder_.file("");
  EXPECT_EQ(message_of([&] { OutputFile out(folder); }),
            folder + ": cannot be written: it is a folder");
  std::filesystem::create_symlink("/dev/full", path_);
  EXPECT_EQ(message_of([&] { OutputFile out(path_); }),
            path_ + ": cannot be written: it is not a file");
}

TEST_F(Hdf5File, WhatAKilledWriterLeftIsRemovedButNotWhatOneAtWorkHas) {
  std::ofstream(path_ + ".part-1-0") << "half";
  // Names that no writer gives.
  for (const char* const own : {".part-mine", ".part-1", ".part-1-", ".part--1", ".part-1-0-2"}) {
    std::ofstream(path_ + own) << "the user's";
  }
  OutputFile first(path_);
  OutputFile second(path_);
  EXPECT_THAT(folder_.files(), testing::SizeIs(7));
  first.publish();
  second.publish();
  EXPECT_THAT(folder_.files(), testing::UnorderedElementsAre(
                                   "file.h5", "file.h5.part-mine", "file.h5.part-1",
                                   "file.h5.part-1-", "file.h5.part--1", "file.h5.part-1-0-2"));
}

TEST_F(Hdf5File, RequestsThatDoNotFitAreNamed) {
  OutputFile out(path_);
  EXPECT_EQ(message_of([&] {
              out.write("data", {2, 2}, std::vector<double>(3));
            }),
            path_ + ":data: expected 4, got 3");
  out.write("real", {2}, std::vector<double>{1, NAN});
  out.write("whole", {2}, std::vector<std::int64_t>{1, 2});
  out.write("text", {1}, std::vector<std::string>{"x"});
  out.write("large", {2, 2}, std::vector<double>{1, 2, 3, 1e300});
  EXPECT_EQ(message_of([&] { out.write("real", {1}, std::vector<double>{1}); }),
            path_ + ":real: cannot be written: HDF5 refused");
  out.publish();

  const InputFile in(path_);
  std::vector<float> two(2), three(3), four(4);
  EXPECT_EQ(message_of([&] { in.read("none", two); }), path_ + ":none: no such dataset");
  EXPECT_EQ(message_of([&] { in.read("real", three); }),
            path_ + ":real: expected 3 elements, got 2");
  EXPECT_EQ(message_of([&] { in.read("real", two); }),
            path_ + ":real: expected finite numbers, got NaN at [1]");
  EXPECT_EQ(message_of([&] { in.read("large", four); }),
            path_ + ":large: expected finite numbers, got inf at [1, 1]");
  EXPECT_EQ(message_of([&] { in.read("whole", two); }),
            path_ + ":whole: expected type float16, float32 or float64, got int64");
  EXPECT_EQ(message_of([&] { in.read_integers("real"); }),
            path_ + ":real: expected whole numbers, got float64");
  EXPECT_EQ(message_of([&] { in.read_strings("real"); }),
            path_ + ":real: expected text, got float64");
  EXPECT_TRUE(std::isnan(in.read_reals("real").values.at(1)));
}

TEST_F(Hdf5File, DamagedBytesAreAnErrorNotAnotherNumber) {
  OutputFile out(path_);
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) * 1.25;
  out.write("data", {1000}, values, {.gzip_level = 0});
  out.publish();
  std::string bytes = test::read_file(path_);
  bytes.resize(bytes.rfind("\nheadscope sha256 "));
  const double marker = 700 * 1.25;
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&marker), 8));
  ASSERT_NE(at, std::string::npos);
  std::string changed = bytes;
  changed[at + 3] = static_cast<char>(changed[at + 3] ^ 1);
  test::write_file(path_, changed);
  EXPECT_EQ(message_of([&] { InputFile(path_).read_reals("data"); }),
            path_ + ":data: cannot be read: the file is damaged or cut short");
}

}  // namespace
}  // namespace headscope::hdf5
