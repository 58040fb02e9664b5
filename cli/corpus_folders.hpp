#pragma once

#include <string>

#include "headscope/corpus.hpp"

namespace headscope {

/// What was read of a folder and what was left, on one line; of many names the first few.
std::string corpus_folder_text(const CorpusFolder& folder);

/// `gum.conllu has no "# newdoc": its 1,575 sentences are one document; …`
std::string undivided_file_text(const UndividedFile& file);

}  // namespace headscope
