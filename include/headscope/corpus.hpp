#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headscope/tokenizer.hpp"
#include "headscope/types.hpp"

namespace headscope {

class CorpusFile;

/// A syntactic word of a piece (a CoNLL-U token line with a whole-number id).
struct Word {
  std::string form, lemma, upos, xpos;
  std::vector<std::pair<std::string, std::string>> features;  ///< FEATS, name and value
  std::string
      relation;  ///< UD relation without subtype; empty when the document has no dependencies
  /// Index of the syntactic head in the piece; none for a root, or if a cut put the head into
  /// another piece.
  std::optional<Index> head;
  Index sentence = 0;
  std::vector<Index> tokens;  ///< indices into Piece::tokens; empty: unaligned
};

/// A mention of an entity: a span of words (more than one span when discontinuous).
struct Mention {
  std::string entity;        ///< identity within the document
  std::string type;          ///< entity type, empty when the file gives none
  std::vector<Index> words;  ///< in order
  Index head_word = 0;       ///< index of the head word in the piece
};

/// What is run through the model at once: a document, or a piece of one that is longer than the
/// model's context. Halves of the corpus, resampling, samples and counts go by document.
struct Piece {
  std::uint64_t document = 0;  ///< the document's position in the corpus, from 0
  std::uint64_t index = 0;     ///< of the piece in the document, from 0
  std::uint64_t n_piece = 1;   ///< of the document
  /// `# newdoc` id, or the file's name and a number: in `alice.txt:120` the line where the document
  /// begins, in token-id files the document's number from 0. The second piece of a cut document
  /// ends in `/2`.
  std::string id;
  TokenIds tokens;       ///< starts with the first token if `prepend_bos`
  bool has_bos = false;  ///< tokens[0] was prepended
  std::vector<std::string>
      token_text;  ///< bytes each token stands for; empty for token-id corpora without tokenizer
  std::vector<Word> words;        ///< empty without annotation
  std::vector<Mention> mentions;  ///< in order of their first word; empty without coreference
  bool has_dependencies = false;  ///< the document has
  bool has_coreference = false;   ///< the document has
};

/// A text as a document of one piece, however long.
/// @throws DataError if it is to begin with a first token and the tokenizer has none.
Piece text_piece(const Tokenizer& tokenizer, const std::string& text, bool prepend_bos);

struct CorpusOptions {
  bool prepend_bos = true;  ///< put the tokenizer's first token before each piece
  Index max_tokens =
      1024;  ///< context: longer documents are cut at sentence boundaries into several
  std::uint64_t max_documents = 0;  ///< 0: all
  std::string encoding = "utf-8";   ///< of text and CoNLL-U, as iconv names it
  /// Sentences of a document where a CoNLL-U file has no `# newdoc` (before its first one); 0: all
  /// are one document.
  std::uint64_t document_sentences = 0;
  /// Whether `<|endoftext|>` in plain text is text; else it ends a document.
  bool literal_special_tokens = false;
  Index d_vocab = 0;  ///< of the model, which bounds ids without a tokenizer; 0: unknown
};

/// What ends a document within plain text.
inline constexpr std::string_view document_separator = "<|endoftext|>";

/// A plain text in which `<|endoftext|>` ends documents.
struct SeparatedFile {
  std::string path;
  std::uint64_t n_separator = 0;  ///< at least 1
};

/// A CoNLL-U file that is one document: it has no `# newdoc`.
struct UndividedFile {
  std::string path;
  std::uint64_t n_sentence = 0;  ///< at least 2
};

/// What a corpus takes of a folder; names in order.
struct CorpusFolder {
  std::string path;
  std::vector<std::string> read, ignored;
};

/// Documents from files or folders: plain text (a blank line or `<|endoftext|>` ends a document),
/// CoNLL-U, or token ids in HDF5. Opening checks all files and finds where documents and their
/// pieces begin; pieces are then read one at a time. Files ending in `.conllu` or `.conll` are
/// CoNLL-U, files with the HDF5 signature (or ending in `.h5`) are token ids, all others are plain
/// text; each may be compressed
/// (`.gz`). Line ends may be LF, CR LF or CR.
///
/// Documents longer than the context are cut into pieces, each tokenised by itself: CoNLL-U between
/// sentences; plain text after sentence-ending punctuation, any closing quotes and brackets, and
/// white space. A sentence longer than the context is cut between words. A word longer than the
/// context is cut between tokens in plain text and truncated in CoNLL-U. Mentions and arcs that
/// span several pieces are dropped.
///
/// Plain text may hold any characters but NUL, in lines and documents of at most 64 MiB. A CoNLL-U
/// file without `# newdoc` is one document (undivided_files), or with `document_sentences` one for
/// every so many sentences.
///
/// Token-id HDF5 files hold `tokens` (integers, all documents concatenated) and `offsets`
/// (n_document + 1 positions); the ids are held in memory. Documents are cut where the context is
/// full. A document that begins with the first token gets no second one.
class Corpus {
 public:
  /// @param paths      files or folders; a folder stands for its .txt, .conllu, .conll and .h5
  /// files, also .gz, in name order, without READMEs and licences.
  /// @param tokenizer  may be null for token-id files only.
  /// @throws DataError naming file and line: unreadable, text not in its encoding, malformed
  /// CoNLL-U, ids outside the vocabulary, no documents; or that there is no first token.
  /// @throws OptionError if max_tokens leaves no room for text, or the encoding is not known.
  Corpus(const std::vector<std::string>& paths, const Tokenizer* tokenizer,
         const CorpusOptions& options);
  ~Corpus();
  Corpus(Corpus&&) noexcept;
  Corpus& operator=(Corpus&&) noexcept;

  std::uint64_t n_document() const { return n_document_; }
  /// Pieces of one document, at least 1.
  /// @throws ShapeError if document >= n_document().
  std::uint64_t n_piece(std::uint64_t document) const;
  /// Pieces of all documents.
  std::uint64_t n_piece() const { return n_piece_; }
  /// Tokens of the longest piece; `max_tokens` if a document is cut.
  Index longest_piece() const { return longest_piece_; }
  /// Documents with the text or tokens of an earlier document.
  std::uint64_t n_copy() const { return n_copy_; }
  /// Different labels of dependency arcs (DEPREL without subtype).
  std::uint64_t n_relation() const { return relations_.size(); }
  /// @throws ShapeError if document >= n_document() or index >= n_piece(document).
  Piece piece(std::uint64_t document, std::uint64_t index = 0) const;
  /// Whether a piece is the first of its document that has a predicted token: a second token.
  bool begins_predictions(const Piece& piece) const;

  /// The folders among the paths, in order.
  const std::vector<CorpusFolder>& folders() const { return folders_; }

  /// Kinds of the files read: `plain text`, `CoNLL-U`, `token ids`.
  const std::set<std::string>& kinds() const { return kinds_; }
  /// In order.
  const std::vector<UndividedFile>& undivided_files() const { return undivided_files_; }
  const std::vector<SeparatedFile>& separated_files() const { return separated_files_; }

  /// SHA-256 over the files' bytes in reading order, lower-case hexadecimal.
  const std::string& sha256() const { return sha256_; }
  /// SHA-256 over the kind, size, number of documents and number of pieces of each file read,
  /// lower-case hexadecimal. `sha256` does not tell where a file ends.
  const std::string& layout_sha256() const { return layout_sha256_; }

 private:
  /// The file of a document, and the document's number in it.
  std::pair<const CorpusFile*, std::uint64_t> find(std::uint64_t document) const;

  std::vector<std::unique_ptr<CorpusFile>> files_;
  std::vector<std::uint64_t> first_document_;  // of each file
  std::uint64_t n_document_ = 0, n_piece_ = 0, n_copy_ = 0;
  Index longest_piece_ = 0;
  std::string sha256_;
  std::vector<CorpusFolder> folders_;
  std::vector<UndividedFile> undivided_files_;
  std::vector<SeparatedFile> separated_files_;
  std::set<std::string> relations_, kinds_;
  std::string layout_sha256_;
};

}  // namespace headscope
