#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "files/hdf5_call.hpp"
#include "files/hdf5_file.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope::hdf5 {
namespace {

/// A file as h5py writes it by default: the names of each group lie in a local heap. CTest runs
/// these tests a second time where 512 MiB or more at once end the process (tests/CMakeLists.txt).
class Hdf5Sizes : public testing::Test {
 protected:
  void SetUp() override {
    const Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const Handle group(H5Gcreate2(file, "h", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    const Handle one(H5Screate(H5S_SCALAR), H5Sclose);
    // So many that their heap is moved away from its header.
    for (int i = 0; i < 40; ++i) {
      const std::string name = "a_dataset_of_the_group_with_the_number_" + std::to_string(i);
      const Handle dataset(H5Dcreate2(group, name.c_str(), H5T_NATIVE_FLOAT, one, H5P_DEFAULT,
                                      H5P_DEFAULT, H5P_DEFAULT),
                           H5Dclose);
      const float value = 1;
      H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
    }
  }

  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("names.h5");
};

TEST_F(Hdf5Sizes, OfAGroupsNamesIsAtMostTheFiles) {
  ASSERT_EQ(InputFile(path_).datasets().size(), 40U);
  const std::string whole = test::read_file(path_);
  int n_heap = 0;
  for (std::size_t heap = whole.find("HEAP"); heap != std::string::npos;
       heap = whole.find("HEAP", heap + 1)) {
    for (const std::uint64_t size : {std::uint64_t{whole.size() + 1}, std::uint64_t{3} << 30,
                                     std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
      std::string bytes = whole;
      std::memcpy(bytes.data() + heap + 8, &size, sizeof size);
      test::write_file(path_, bytes);
      EXPECT_TRUE(test::message_of([&] {
                    InputFile(path_).datasets();
                  }).ends_with("cannot be read: the file is damaged or cut short"))
          << size;
    }
    ++n_heap;
  }
  EXPECT_EQ(n_heap, 2);
}

}  // namespace
}  // namespace headscope::hdf5
