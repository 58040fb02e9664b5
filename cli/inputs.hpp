#pragma once

#include <optional>
#include <string>

#include "headscope/corpus.hpp"
#include "headscope/model.hpp"

namespace headscope {

/// Path of a default data file: in `$HEADSCOPE_DATA` if set, else in the installed
/// `share/headscope` or in the source tree's `data/`.
/// @throws DataError naming the folders searched.
std::string default_data_path(const std::string& name);

/// The model file given, or the default one.
std::string model_path(const std::string& given);

/// The tokenizer in a folder, or, if that is empty, the model's own; nothing if it has none.
/// @throws DataError if it cannot be read or does not fit the model.
std::optional<Tokenizer> open_tokenizer(const std::string& folder, const Model& model);

/// What was read of a folder and what was left, on one line; of many names the first few.
std::string corpus_folder_text(const CorpusFolder& folder);

/// `gum.conllu has no "# newdoc": its 1,575 sentences are one document; …`
std::string undivided_file_text(const UndividedFile& file);

}  // namespace headscope
