#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/corpus.hpp"

/// Mentions from the bracket notation of `Entity=` in CoNLL-U, as CorefUD and GUM write it.
///
///   (e1-person-1-new    opens a mention of entity e1
///   e1)                 closes it
///   (e2-place-1-new)    a mention of one word
///   (e3[1/2]-…  e3[1/2])  …  (e3[2/2]-…  e3[2/2])    a mention in two parts
///
/// Brackets may nest and cross. Other values in MISC (`Bridge=`, `SplitAnte=`) are not read.
///
/// Source: Nedoluzhko et al. 2022, "CorefUD 1.0"; Zeldes 2017, "The GUM Corpus".
namespace headscope::coreference {

/// Positions of the `-`-separated fields of an opening bracket, as `# global.Entity` declares them,
/// for example `eid-etype-head-other`. The identity comes first. Without a declaration only the
/// identity is read.
struct EntityFields {
  std::optional<std::size_t> type;  ///< field `etype`
  std::optional<std::size_t> head;  ///< field `head` or `minspan`

  static EntityFields parse(std::string_view declaration);
};

/// Collects the mentions of one document, node by node.
class MentionReader {
 public:
  using Heads = std::vector<std::optional<Index>>;

  /// @param is_whole  true: the nodes are a document, where every bracket must be matched. false:
  ///                  mentions that extend beyond the nodes are left out without error.
  MentionReader(std::string file, EntityFields fields, bool is_whole);

  /// Takes the next node.
  /// @param word    index of the word in the document; none for an empty node.
  /// @param entity  value of `Entity=`, empty when there is none.
  /// @param line    for errors.
  /// @throws DataError if the value is not in bracket notation or, with is_whole, closes a mention
  /// that is not open.
  void add(std::optional<Index> word, std::string_view entity, std::size_t line);

  /// The mentions in order of their first word (then of their brackets).
  ///
  /// The head word is the one at the position that the head field gives, counted from 1 within the
  /// mention. If the field lists several (`2,4`), is empty or does not exist, it is the first of
  /// the listed words (or of all) whose syntactic head lies outside the mention, else the first of
  /// them. Mentions of empty nodes alone are left out.
  ///
  /// @param heads  the syntactic head of each word of the document.
  /// @throws DataError on a head position outside the mention; with is_whole also on a bracket left
  /// open or a missing part.
  std::vector<Mention> finish(const Heads& heads);

 private:
  struct Name {
    std::string identity;
    std::uint64_t part = 1, n_part = 1;
    bool operator==(const Name&) const = default;
  };
  struct Open {
    Name name;
    std::string type, head;
    std::size_t line = 0, order = 0;
    std::vector<std::optional<Index>> nodes;
  };
  [[noreturn]] void fail(std::size_t line, const std::string& problem) const;
  Name parse_name(std::string_view text, std::size_t line) const;
  void open(std::string_view content, std::optional<Index> word, std::size_t line);
  void close(std::string_view content, std::size_t line);
  void add_part(Open part);
  Index head_word(const Open& mention, const std::vector<Index>& words, const Heads& heads) const;

  std::string file_;
  EntityFields fields_;
  bool whole_;
  std::size_t n_opened_ = 0;
  std::vector<Open> open_;
  std::vector<Open> partial_;  // with parts still to come, oldest first
  std::vector<Open> complete_;
};

}  // namespace headscope::coreference
