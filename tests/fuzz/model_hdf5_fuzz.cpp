#include "hdf5_samples.hpp"
#include "model_checks.hpp"

// A model with Hugging Face's names, changed object by object.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headscope::fuzz;
  static const std::string image = model_image(false);
  static const DraftWords words = model_words(false);
  static const MemoryFile file;
  Bytes bytes(data, size);
  const bool save_too = bytes.below(8) == 1;
  Hdf5Draft draft(image, words);
  draft.edit(bytes);
  file.fill(draft.image());
  check_model_file(file.path(), save_too);
  return 0;
}
