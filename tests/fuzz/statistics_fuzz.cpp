#include "hdf5_samples.hpp"
#include "results/statistics_file.hpp"

namespace headscope::fuzz {

// A statistics file, changed object by object.
void test_input(Bytes bytes) {
  static const Hdf5Sample sample{statistics_image(), statistics_words()};
  static const OutputPath output;
  const bool save_too = bytes.below(8) == 1;
  const std::string& path = edited_file(sample, bytes);
  StatisticsFile loaded;
  if (!read_or_refuse([&] { loaded = load_statistics(path); })) return;
  if (!save_too ||
      !read_or_refuse([&] { save_statistics(loaded.texts, loaded.parts, output.path()); })) {
    return;
  }
  const StatisticsFile again = load_statistics(output.path());
  require(again.parts.size() == loaded.parts.size(), "saved parts are loaded again");
  for (const auto& [name, part] : loaded.parts) {
    require(again.parts.contains(name), "saved parts are loaded under their names");
  }
}

}  // namespace headscope::fuzz
