#include "inputs.hpp"

#include <cstdlib>
#include <filesystem>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_listed = 8;  // files of a folder

}  // namespace

std::string default_data_path(const std::string& name) {
  std::vector<fs::path> places;
  if (const char* set = std::getenv("HEADSCOPE_DATA"); set != nullptr && *set != '\0') {
    places.emplace_back(set);
  } else {
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    if (!program.empty()) places.push_back(program.parent_path() / "../share/headscope");
    places.emplace_back(HEADSCOPE_SOURCE_DATA);
  }
  const auto text_of = [](const fs::path& path) { return path.lexically_normal().string(); };
  for (const fs::path& place : places) {
    if (fs::exists(place / name)) return text_of(place / name);
  }
  throw DataError(
      name, "",
      "expected the default data below one of: " + joined(places, ", ", text_of) + "; found none");
}

std::string model_path(const std::string& given) {
  return given.empty() ? default_data_path("default-model.h5") : given;
}

std::optional<Tokenizer> open_tokenizer(const std::string& folder, const Model& model) {
  const std::optional<TokenizerFiles> files =
      folder.empty() ? tokenizer_files_of(model) : read_tokenizer_files(folder);
  if (!files) return std::nullopt;
  Tokenizer tokenizer(*files);
  check_tokenizer_fits(tokenizer, model);
  return tokenizer;
}

std::string corpus_folder_text(const CorpusFolder& folder) {
  std::string text = folder.path + ": reads " + first_joined(folder.taken, most_listed);
  if (!folder.left.empty()) text += "; leaves " + first_joined(folder.left, most_listed);
  return text;
}

std::string undivided_file_text(const UndividedFile& file) {
  return file.path + " has no \"# newdoc\": its " + grouped(file.n_sentence) +
         " sentences are one document; `run --document-sentences K` makes documents of K sentences";
}

}  // namespace headscope
