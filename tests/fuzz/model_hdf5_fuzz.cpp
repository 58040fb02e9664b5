#include "hdf5_samples.hpp"
#include "model_checks.hpp"

namespace headscope::fuzz {

// A model with Hugging Face's names, changed object by object.
void test_input(Bytes bytes) {
  static const Hdf5Sample sample{model_image(false), model_words(false)};
  const bool save_too = bytes.below(8) == 1;
  const std::string& path = edited_file(sample, bytes);
  check_model_file(path, save_too);
}

}  // namespace headscope::fuzz
