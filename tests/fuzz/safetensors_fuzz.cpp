#include <algorithm>
#include <cmath>
#include <cstring>

#include "files/safetensors.hpp"
#include "fuzz.hpp"
#include "model_checks.hpp"

namespace headscope::fuzz {
namespace {

void check_tensors(const SafetensorsFile& file, std::string_view bytes) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  for (const SafetensorsFile::Tensor& tensor : file.tensors()) {
    require(tensor.begin <= tensor.end && tensor.end <= bytes.size(), "bytes lie in the file");
    if (tensor.end > tensor.begin) spans.emplace_back(tensor.begin, tensor.end);
    std::vector<float> values(element_count(tensor.shape));
    if (!read_or_refuse([&] { file.read(tensor, values); })) continue;
    require(std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }),
            "numbers are finite");
    if (tensor.type != "F32") continue;
    require(std::memcmp(values.data(), bytes.data() + tensor.begin, tensor.end - tensor.begin) == 0,
            "numbers are the file's");
  }
  std::sort(spans.begin(), spans.end());
  for (std::size_t i = 1; i < spans.size(); ++i) {
    require(spans[i].first >= spans[i - 1].second, "tensors share no bytes");
  }
}

}  // namespace

// A safetensors file: the bytes unchanged, or as a header with its length added before and data
// after.
void test_input(Bytes bytes) {
  std::string content;
  if (bytes.below(8) == 7) {
    content = bytes.rest();
  } else {
    const std::size_t n_data = bytes.below(16384);
    const std::uint64_t length = bytes.rest().size();
    content.assign(reinterpret_cast<const char*>(&length), sizeof length);
    content += bytes.rest();
    for (std::size_t i = 0; i < n_data; ++i) content += "\x3f\x01\x20\x3e"[i % 4];
  }
  const std::string& path = file_with(content);
  read_or_refuse([&] { check_tensors(SafetensorsFile(path), content); });
  if (SafetensorsFile::recognises(path)) check_model_file(path, false);
}

}  // namespace headscope::fuzz
