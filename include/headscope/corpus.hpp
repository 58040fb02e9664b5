#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headscope/tokenizer.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// A syntactic word of a document (a CoNLL-U token line with a whole-number id).
struct Word {
  std::string form, lemma, upos, xpos;
  std::vector<std::pair<std::string, std::string>> features;  ///< FEATS, name and value
  std::string
      relation;  ///< UD relation without subtype; empty when the document has no dependencies
  std::optional<Index> head;  ///< index of the governing word in the document; none for the root
  Index sentence = 0;
  std::vector<Index> tokens;  ///< indices into Document::tokens; empty: unaligned
};

/// A mention of an entity: a span of words (more than one span when discontinuous).
struct Mention {
  std::string entity;        ///< identity within the document
  std::string type;          ///< entity type, empty when the file gives none
  std::vector<Index> words;  ///< in order
  Index head_word = 0;       ///< index of the head word in the document
};

/// One document, cut to the model's context.
struct Document {
  std::uint64_t index = 0;  ///< position in the corpus, from 0
  std::string id;           ///< newdoc id, or file name and number
  TokenIds tokens;          ///< with `<|endoftext|>` first when the corpus was opened so
  bool has_bos = false;     ///< tokens[0] was prepended
  std::vector<std::string>
      token_text;  ///< bytes each token stands for; empty for token-id corpora without tokenizer
  std::vector<Word> words;        ///< empty without annotation
  std::vector<Mention> mentions;  ///< in order of their first word; empty without coreference
  bool has_dependencies = false;
  bool has_coreference = false;
};

struct CorpusOptions {
  bool prepend_bos = true;  ///< put `<|endoftext|>` before each document
  Index max_tokens =
      1024;  ///< context: longer documents are cut at sentence boundaries into several
  std::uint64_t max_documents = 0;  ///< 0: all
};

/// Files or folders of plain text (a blank line ends a document), CoNLL-U, or token ids in HDF5,
/// read a document at a time: opening finds where documents begin, memory holds one document.
///
/// Token-id HDF5 files hold `tokens` (whole numbers, all documents in a row) and `offsets`
/// (n_document + 1 positions).
class Corpus {
 public:
  /// @param paths      files or folders; a folder stands for its .txt, .conllu and .h5 files in
  /// name order.
  /// @param tokenizer  may be null for token-id files only.
  /// @throws DataError naming file and line: unreadable, not UTF-8 where it must be, malformed
  /// CoNLL-U, no documents.
  Corpus(const std::vector<std::string>& paths, const Tokenizer* tokenizer,
         const CorpusOptions& options);
  ~Corpus();
  Corpus(Corpus&&) noexcept;
  Corpus& operator=(Corpus&&) noexcept;

  std::uint64_t n_document() const;
  /// @throws ShapeError if index >= n_document().
  Document document(std::uint64_t index) const;

  /// SHA-256 over the files' bytes in reading order, lower-case hexadecimal.
  const std::string& sha256() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace headscope
