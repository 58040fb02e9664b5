#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/corpus.hpp"
#include "headscope/model.hpp"
#include "headscope/tasks.hpp"

namespace headscope {

/// Path of a default data file: in `$HEADSCOPE_DATA` if set, else in
/// `share/headscope` beside the program's folder or, before it is installed, in its build folder.
/// @throws DataError naming the folders searched.
std::string default_data_path(const std::string& name);

/// Default of --context if the model's context is longer: patterns grow with its square.
inline constexpr std::uint64_t default_context = 1024;

/// The config for a run of pieces of at most `context` tokens. With rotary positions n_ctx becomes
/// `context`, model_n_ctx keeps it: no tensor depends on it, and analyses then use less memory.
ModelConfig config_of_run(ModelConfig config, Index context);

/// The model file given, or the default one.
std::string model_path(const std::string& given);
/// The corpus and tasks of a run of the default model.
std::string default_corpus();
std::string default_tasks();

/// One line: which tensors of the model's file are left out; nothing if it has no such tensors.
std::vector<std::string> model_notes(const Model& model);

/// Options of reading text.
struct TextOptions {
  std::string tokenizer;    ///< folder; empty: that of the model's file or folder
  std::string bos;          ///< token that texts begin with; empty: the model's
  bool prepend_bos = true;  ///< texts begin with a token
};

/// The tokenizer in a folder, or, if there is none, the model's own; nothing if it has none. Its
/// first token is `bos`, else that of the model's config.
/// @throws DataError if it cannot be read or does not fit the model, OptionError if it lacks `bos`.
std::optional<Tokenizer> open_tokenizer(const TextOptions& options, const Model& model);

/// Makes `bos` the tokenizer's first token. @throws OptionError if the tokenizer lacks it.
void begin_with_bos(Tokenizer& tokenizer, const std::string& bos);

/// @throws UsageError if both --bos and --no-bos are given.
void check_first_token(const TextOptions& options);

/// What texts begin with, and who says so: `<s> (from the tokenizer)`.
std::string first_token_text(const Tokenizer& tokenizer, bool prepend_bos);

/// `gum.conllu has no "# newdoc": its 1,575 sentences are one document; …`, and how many documents
/// repeat an earlier one, from one of ten on.
std::vector<std::string> corpus_warnings(const Corpus& corpus);

/// `copies of an earlier pair: 20 of 200 of ioi; …`: the tasks with so many, from one of ten on.
std::vector<std::string> tasks_warnings(const TaskFiles& files);

/// One line each: which files of a folder are read and which are ignored, of many names the first
/// few; corpus_warnings; `stories.txt: <|endoftext|> ends a document 120 times; …`.
std::vector<std::string> corpus_notes(const Corpus& corpus);

}  // namespace headscope
