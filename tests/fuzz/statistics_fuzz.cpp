#include <cmath>

#include "hdf5_samples.hpp"
#include "headscope/statistics.hpp"

// A statistics file, changed object by object.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headscope;
  using namespace headscope::fuzz;
  static const std::string image = statistics_image();
  static const DraftWords words = statistics_words();
  static const MemoryFile file;
  static const OutputPath output;
  Bytes bytes(data, size);
  const bool save_too = bytes.below(8) == 1;
  Hdf5Draft draft(image, words);
  draft.edit(bytes);
  file.fill(draft.image());
  Statistics statistics;
  if (!read_or_refuse([&] { statistics = Statistics::load(file.path()); })) return 0;
  for (const std::string& name : statistics.sum_names()) {
    const Array& sum = statistics.sum(name);
    require(sum.size() == element_count(sum.shape), "a sum has the elements of its shape");
  }
  if (!save_too || !read_or_refuse([&] { statistics.save(output.path()); })) return 0;
  const Statistics again = Statistics::load(output.path());
  require(again.sum_names() == statistics.sum_names(), "saved sums are loaded again");
  for (const std::string& name : statistics.sum_names()) {
    const auto &ours = statistics.sum(name).values, &theirs = again.sum(name).values;
    require(
        std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                   [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }),
        "saved numbers are loaded as they were");
  }
  return 0;
}
