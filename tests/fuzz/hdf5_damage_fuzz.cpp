#include <array>

#include "hdf5_samples.hpp"
#include "headscope/corpus.hpp"
#include "headscope/inspect.hpp"
#include "headscope/model.hpp"
#include "headscope/results.hpp"
#include "results/statistics_file.hpp"

namespace headscope::fuzz {
namespace {

// Changes single bytes, overwrites runs, cuts the end.
void damage(std::string& image, Bytes& bytes) {
  while (!bytes.empty() && !image.empty()) {
    const std::size_t at = bytes.next_pair() * std::size_t{4} % image.size() + bytes.below(4);
    if (at >= image.size()) continue;
    switch (bytes.below(6)) {
      case 0:
        image.resize(at);
        break;
      case 1:
        image.replace(at, 8, std::string(8, '\xff'));
        break;
      case 2:
        image[at] = static_cast<char>(image[at] ^ (1 << bytes.below(8)));
        break;
      case 3: {
        const std::size_t from = bytes.next_pair() % image.size();
        const std::string copied = image.substr(from, 1 + bytes.below(64));
        image.replace(at, copied.size(), copied);
        break;
      }
      default:
        image[at] = static_cast<char>(bytes.next());
    }
  }
}

}  // namespace

// A valid file of any kind with damaged bytes, HDF5's own structures included.
void test_input(Bytes bytes) {
  static const std::array<std::string, 5> images{model_image(false), model_image(true),
                                                 results_image(), statistics_image(),
                                                 token_ids_image()};
  const std::size_t kind = bytes.below(images.size());
  std::string image = images[kind];
  damage(image, bytes);
  const std::string& path = file_with(image);
  read_or_refuse([&] {
    switch (kind) {
      case 0:
      case 1:
        describe_file(path, {2});
        load_model(path, {2});
        break;
      case 2:
        read_results(path);
        break;
      case 3:
        load_statistics(path);
        break;
      default: {
        const Corpus corpus({path}, nullptr, {false, 8, 0});
        corpus.piece(0);
      }
    }
  });
}

}  // namespace headscope::fuzz
