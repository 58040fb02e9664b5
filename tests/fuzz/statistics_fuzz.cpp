#include "hdf5_samples.hpp"
#include "headscope/statistics_file.hpp"

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
  StatisticsFile loaded;
  if (!read_or_refuse([&] { loaded = load_statistics(file.path()); })) return 0;
  if (!save_too ||
      !read_or_refuse([&] { save_statistics(loaded.texts, loaded.parts, output.path()); })) {
    return 0;
  }
  const StatisticsFile again = load_statistics(output.path());
  require(again.parts.size() == loaded.parts.size(), "saved parts are loaded again");
  for (const auto& [name, part] : loaded.parts) {
    require(again.parts.contains(name), "saved parts are loaded under their names");
  }
  return 0;
}
