#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "files/hdf5_call.hpp"
#include "files/hdf5_file.hpp"
#include "headscope/random.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope::hdf5 {
namespace {

/// Files as h5py writes them by default: the names of each group lie in a local heap, texts in a
/// global heap, and nothing has a checksum. CTest runs these tests a second time where 512 MiB or
/// more at once end the process (tests/CMakeLists.txt).
class Hdf5Sizes : public testing::Test {
 protected:
  Handle create() const {
    return {H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose};
  }

  /// The file with another number in place of the one at `at`.
  void expect_refused(std::size_t at, std::size_t n_byte, std::uint64_t number,
                      const std::function<void(const InputFile&)>& read) const {
    const std::string whole = test::read_file(path_);
    std::string bytes = whole;
    const std::array<std::uint64_t, 2> numbers{number, 0};
    std::memcpy(bytes.data() + at, numbers.data(), n_byte);
    test::write_file(path_, bytes);
    EXPECT_THAT(test::message_of([&] { read(InputFile(path_)); }),
                testing::EndsWith("cannot be read: the file is damaged or cut short"))
        << number << " at " << at;
    test::write_file(path_, whole);
  }

  void expect_sizes_refused(std::size_t at,
                            const std::function<void(const InputFile&)>& read) const {
    for (const std::uint64_t size :
         {std::uint64_t{test::read_file(path_).size() + 1}, std::uint64_t{3} << 30,
          std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
      expect_refused(at, sizeof size, size, read);
    }
  }

  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("sizes.h5");
  const Handle one_{H5Screate(H5S_SCALAR), H5Sclose};
};

TEST_F(Hdf5Sizes, OfAGroupsNamesIsAtMostTheFiles) {
  {
    const Handle file = create();
    const Handle group(H5Gcreate2(file, "h", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    // So many that their heap is moved away from its header.
    for (int i = 0; i < 40; ++i) {
      const std::string name = "a_dataset_of_the_group_with_the_number_" + std::to_string(i);
      const Handle dataset(H5Dcreate2(group, name.c_str(), H5T_NATIVE_FLOAT, one_, H5P_DEFAULT,
                                      H5P_DEFAULT, H5P_DEFAULT),
                           H5Dclose);
      const float value = 1;
      H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
    }
  }
  ASSERT_EQ(InputFile(path_).datasets().size(), 40U);
  const std::string whole = test::read_file(path_);
  int n_heap = 0;
  for (std::size_t heap = whole.find("HEAP"); heap != std::string::npos;
       heap = whole.find("HEAP", heap + 1)) {
    expect_sizes_refused(heap + 8, [](const InputFile& file) { file.datasets(); });
    ++n_heap;
  }
  EXPECT_EQ(n_heap, 2);
}

TEST_F(Hdf5Sizes, OfAContinuedHeaderIsAtMostTheFiles) {
  {
    const Handle file = create();
    const std::array<Handle, 2> groups{
        Handle(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose),
        Handle(H5Gcreate2(file, "h", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose)};
    // In turn, so that the headers lie in several parts.
    for (int i = 0; i < 60; ++i) {
      const std::string name = "attribute_with_the_number_" + std::to_string(i);
      const Handle attribute(
          H5Acreate2(groups[i % 2], name.c_str(), H5T_NATIVE_INT, one_, H5P_DEFAULT, H5P_DEFAULT),
          H5Aclose);
      H5Awrite(attribute, H5T_NATIVE_INT, &i);
    }
  }
  ASSERT_EQ(InputFile(path_).attribute_names("h").size(), 30U);
  const std::string whole = test::read_file(path_),
                    continuation("\x10\x00\x10\x00\x00\x00\x00\x00", 8);
  int n_continuation = 0;
  for (std::size_t at = whole.find(continuation); at != std::string::npos;
       at = whole.find(continuation, at + 1)) {
    expect_sizes_refused(at + 16, [](const InputFile& file) { file.groups(); });
    ++n_continuation;
  }
  EXPECT_GE(n_continuation, 3);
}

TEST_F(Hdf5Sizes, OfHeadersThatLieSideBySideAreRight) {
  const auto create_text = [](const Handle& object, const std::string& name, std::size_t size) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose), scalar(H5Screate(H5S_SCALAR), H5Sclose);
    H5Tset_size(type, size);
    const Handle text(H5Acreate2(object, name.c_str(), type, scalar, H5P_DEFAULT, H5P_DEFAULT),
                      H5Aclose);
    H5Awrite(text, type, std::string(size, 'x').c_str());
  };
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const CounterRandom random(seed);
    std::uint64_t counter = 0;
    const auto draw = [&](std::uint64_t n) { return random.below(n, counter++); };
    std::vector<std::string> names{"h"};
    std::map<std::string, std::size_t> n_attribute;
    {
      const Handle file = create();
      std::vector<Handle> objects;
      objects.emplace_back(H5Gcreate2(file, "h", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
      for (std::uint64_t step = 5 + draw(55); step > 0; --step) {
        if (draw(7) == 0) {
          names.push_back("h/d" + std::to_string(step));
          objects.emplace_back(H5Dcreate2(file, names.back().c_str(), H5T_NATIVE_FLOAT, one_,
                                          H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                               H5Dclose);
        } else {
          // Mostly of a late object: its header goes on behind the header of the next one.
          const std::size_t late = std::min<std::size_t>(objects.size(), 3),
                            i = objects.size() - 1 - draw(draw(3) > 0 ? late : objects.size());
          constexpr std::array<std::size_t, 3> sizes{8, 16, 40};
          create_text(objects[i], "a" + std::to_string(step), sizes[draw(3)]);
          ++n_attribute[names[i]];
        }
      }
    }
    const InputFile file(path_);
    for (const std::string& name : names) {
      EXPECT_EQ(file.attribute_names(name).size(), n_attribute[name]) << name << " of " << seed;
    }
  }
}

TEST_F(Hdf5Sizes, OfTextsAreAtMostTheirHeaps) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  {
    const Handle file = create();
    const hsize_t n_text = 2;
    const Handle two(H5Screate_simple(1, &n_text, nullptr), H5Sclose);
    const char* const texts[] = {"first text", "second"};
    const Handle dataset(H5Dcreate2(file, "x", type, two, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Dclose);
    H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts);
    const Handle attribute(H5Acreate2(dataset, "names", type, two, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
    H5Awrite(attribute, type, texts);
  }
  const std::vector<std::string> expected{"first text", "second"};
  ASSERT_EQ(InputFile(path_).read_strings("x"), expected);
  ASSERT_EQ(InputFile(path_).attribute("x", "names"), Attribute(expected));
  const auto read_both = [](const InputFile& file) {
    file.read_strings("x");
    file.attribute("x", "names");
  };
  const std::string whole = test::read_file(path_);
  const std::uint64_t heap = whole.find("GCOL"), object = heap + 16;
  expect_sizes_refused(heap + 8, read_both);
  expect_sizes_refused(object + 8, read_both);
  expect_refused(heap + 8, 8, 0, read_both);
  expect_refused(object, 2, 0, read_both);
  // Neither number nor size: a reader that goes on from there never ends.
  expect_refused(object, 16, 0, read_both);
  // The places of all texts: length, heap, number.
  const std::string address(reinterpret_cast<const char*>(&heap), sizeof heap);
  int n_text = 0;
  for (std::size_t at = whole.find(address); at != std::string::npos;
       at = whole.find(address, at + 1)) {
    expect_refused(at - 4, 4, 0xFFFFFFFF, read_both);
    expect_refused(at - 4, 4, 64, read_both);
    expect_refused(at, 8, heap + 8, read_both);
    expect_refused(at, 8, whole.size() - 4, read_both);
    expect_refused(at, 8, std::uint64_t{1} << 62, read_both);
    expect_refused(at + 8, 4, 1000, read_both);
    ++n_text;
  }
  EXPECT_EQ(n_text, 4);
}

}  // namespace
}  // namespace headscope::hdf5
