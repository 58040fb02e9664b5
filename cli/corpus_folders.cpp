#include "corpus_folders.hpp"

#include <algorithm>

#include "headscope/number_text.hpp"

namespace headscope {
namespace {

std::string list_text(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

}  // namespace

std::string corpus_folder_text(const CorpusFolder& folder) {
  std::string text = folder.path + ": reads " + list_text(folder.taken);
  if (!folder.left.empty()) text += "; leaves " + list_text(folder.left);
  return text;
}

std::string undivided_file_text(const UndividedFile& file) {
  return file.path + " has no \"# newdoc\": its " + grouped(file.n_sentence) +
         " sentences are one document; --document-sentences K makes documents of K sentences";
}

}  // namespace headscope
