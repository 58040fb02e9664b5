#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/text_file.hpp"
#include "headscope/corpus.hpp"

/// CoNLL-U, a sentence at a time.
///
/// Source: Universal Dependencies, "CoNLL-U Format", version 2.
namespace headscope::conllu {

/// A unit of the surface text: a word, or a multiword token (`3-4`) with its words.
struct Surface {
  std::string form;
  Index first_word = 0, end_word = 0;  ///< [first_word, end_word) in the sentence
  bool space_after = true;
  std::size_t line = 0;
};

/// A word or an empty node (`8.1`), in file order, with the value of `Entity=` in MISC.
struct Node {
  std::optional<Index> word;  ///< index in the sentence; none for an empty node
  std::string entity;         ///< empty when there is none
  std::size_t line = 0;
};

struct Sentence {
  bool starts_document = false;         ///< a `# newdoc` comment came before it
  std::string document_id;              ///< of that `# newdoc`; may be empty
  std::optional<std::string> entities;  ///< `# global.Entity` that came before it
  std::uint64_t begin = 0, end = 0;     ///< bytes of the file, comments included
  std::size_t line = 0;                 ///< of its first line
  /// Token lines with a whole-number id; heads are places in the sentence. `_` reads as empty,
  /// except FORM `_` and its LEMMA.
  std::vector<Word> words;
  std::vector<Surface> surfaces;
  std::vector<Node> nodes;
  bool has_dependencies = false;  ///< any HEAD is given
};

/// Reads sentences one after the other and checks each: UTF-8, ten columns, ids that count up from
/// 1, ranges that cover words, heads inside the sentence and without cycles. Enhanced dependencies
/// are not read. A sentence may have several roots.
class Reader {
 public:
  /// @param input   positioned at `offset` and `line`; must outlive the reader.
  /// @param file    named in errors.
  /// @param offset  bytes of the file before the position; `line` counts the lines before it.
  Reader(std::istream& input, std::string file, std::uint64_t offset = 0, std::size_t line = 0);

  /// The next sentence; nothing at the end of the file.
  /// @throws DataError with file and line.
  std::optional<Sentence> next();

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& problem) const;
  void read_comment(const std::string& line, Sentence& sentence) const;
  void read_node(const std::string& line, Sentence& sentence);
  void read_word(const std::vector<std::string_view>& columns, Sentence& sentence);
  void finish(Sentence& sentence) const;

  std::istream& input_;
  std::string file_;
  TextLine line_;
  // HEAD as written and line of each word of the sentence being read.
  std::vector<std::pair<std::string, std::size_t>> heads_;
};

/// Whether a line is a token of CoNLL-U: ten columns, the first an id.
bool is_word_line(std::string_view line);

/// The part of a relation or any value before the first `:`.
std::string without_subtype(std::string_view relation);

/// The value of `key` in a MISC column, `Key=Value|Key=Value`; empty when absent.
std::string_view misc_value(std::string_view misc, std::string_view key);

}  // namespace headscope::conllu
