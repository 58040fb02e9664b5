#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "headscope/corpus.hpp"

namespace headscope {

/// One opened file of a corpus: where its documents are.
class CorpusFile {
 public:
  virtual ~CorpusFile() = default;
  virtual std::uint64_t n_document() const = 0;
  /// Reads one document; its index in the corpus is left unset. Safe from several threads.
  virtual Document document(std::uint64_t index) const = 0;
};

/// What opening a file needs to know.
struct CorpusContext {
  const Tokenizer* tokenizer = nullptr;
  bool prepend_bos = true;
  Index max_tokens = 0;             ///< without `<|endoftext|>`, at least 1
  std::uint64_t max_documents = 0;  ///< stop after this many; at least 1
};

std::unique_ptr<CorpusFile> open_plain_text(const std::string& path, const CorpusContext& context);
std::unique_ptr<CorpusFile> open_conllu(const std::string& path, const CorpusContext& context);
std::unique_ptr<CorpusFile> open_token_ids(const std::string& path, const CorpusContext& context);

/// Sets tokens, their text and `has_bos` from a document's text.
/// @return the [begin, end) bytes of each token of the text, without `<|endoftext|>`.
std::vector<std::pair<std::size_t, std::size_t>> tokenize(const CorpusContext& context,
                                                          std::string_view text,
                                                          Document& document);

/// The name of a piece: the document's, plus `/2` for the second piece of a cut document.
std::string piece_name(const std::string& document, std::size_t piece, std::size_t n_piece);

/// The name of an unnamed document, from its file and a number: `alice.txt:120`.
std::string name_in_file(const std::string& path, std::uint64_t number);

}  // namespace headscope
