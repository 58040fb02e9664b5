#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/corpus.hpp"

namespace headscope {

/// One opened file of a corpus: where its documents and their pieces are.
class CorpusFile {
 public:
  virtual ~CorpusFile() = default;
  /// `plain text`, `CoNLL-U` or `token ids`.
  virtual std::string kind() const = 0;
  std::uint64_t n_document() const { return document_ends_.size(); }
  std::uint64_t n_piece(std::uint64_t document) const {
    return document_ends_[document] - first_piece(document);
  }
  /// Sentences of a CoNLL-U file that is one document for want of `# newdoc`; else 0.
  std::uint64_t n_undivided() const { return n_undivided_; }
  /// Times that `<|endoftext|>` ends a document of a plain text.
  std::uint64_t n_separator() const { return n_separator_; }
  /// Labels of dependency arcs, without subtype.
  const std::set<std::string>& relations() const { return relations_; }
  /// Tokens of the longest piece, without the first token; `max_tokens` if a document is cut.
  Index longest_piece() const { return longest_piece_; }
  std::uint64_t n_piece() const { return document_ends_.empty() ? 0 : document_ends_.back(); }
  /// A number per document, equal for copies.
  const std::vector<std::size_t>& content_hashes() const { return content_hashes_; }
  /// Reads one piece; its place in the corpus is left unset. Safe from several threads.
  Piece piece(std::uint64_t document, std::uint64_t index) const {
    return read_piece(first_piece(document) + index);
  }

 protected:
  /// Adds a document; its pieces follow those of the documents before it.
  /// @param content  bytes by which copies are known. @param n_piece  at least 1.
  /// @param most_tokens  of a piece, without the first token.
  void add_document(std::string_view content, std::uint64_t n_piece, Index most_tokens) {
    document_ends_.push_back(CorpusFile::n_piece() + n_piece);
    longest_piece_ = std::max(longest_piece_, most_tokens);
    content_hashes_.push_back(std::hash<std::string_view>()(content));
  }

  std::uint64_t n_undivided_ = 0, n_separator_ = 0;
  std::set<std::string> relations_;

 private:
  /// @param index  of the piece in the file.
  virtual Piece read_piece(std::uint64_t index) const = 0;

  std::uint64_t first_piece(std::uint64_t document) const {
    return document == 0 ? 0 : document_ends_[document - 1];
  }

  std::vector<std::uint64_t> document_ends_;  // in pieces of the file
  std::vector<std::size_t> content_hashes_;
  Index longest_piece_ = 0;
};

/// What opening a file needs to know: max_tokens is without the first token, max_documents of this
/// file; both are at least 1.
struct CorpusContext : CorpusOptions {
  const Tokenizer* tokenizer = nullptr;
};

std::unique_ptr<CorpusFile> open_plain_text(const std::string& path, const CorpusContext& context);
std::unique_ptr<CorpusFile> open_conllu(const std::string& path, const CorpusContext& context);
std::unique_ptr<CorpusFile> open_token_ids(const std::string& path, const CorpusContext& context);

/// Sets tokens, their text and `has_bos`. @param ids  without the first token.
void set_tokens(const CorpusContext& context, std::span<const TokenId> ids, Piece& piece);

/// The same from a piece's text.
/// @return the [begin, end) bytes of each token of the text, without the first token.
std::vector<std::pair<std::size_t, std::size_t>> tokenize(const CorpusContext& context,
                                                          std::string_view text, Piece& piece);

/// The name of a piece: the document's, plus `/2` for the second piece of a cut document.
std::string piece_name(const std::string& document, std::size_t piece, std::size_t n_piece);

/// The name of an unnamed document, from its file and a number: `alice.txt:120`.
std::string name_in_file(const std::string& path, std::uint64_t number);

}  // namespace headscope
