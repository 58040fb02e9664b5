#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "corpus/alignment.hpp"

namespace headscope {

/// A text as a tokenizer's model reads it.
struct NormalizedText {
  std::string bytes;
  std::string well_formed;        ///< with_placeholders(bytes)
  std::vector<ByteSpan> origins;  ///< of each byte, in the text before

  /// What a part was before.
  ByteSpan origin(ByteSpan part) const;
};

/// The changes that a tokenizer makes to a text before it splits it.
class Normalizer {
 public:
  /// Puts `text` before a text; if_missing: unless the text begins with it; first_alone: only if
  /// the text begins the document.
  struct Prepend {
    std::string text;
    bool if_missing = false, first_alone = false;
  };

  void compose() { steps_.push_back({Kind::compose, {}}); }
  void prepend(Prepend prefix) { steps_.push_back({Kind::prepend, std::move(prefix)}); }
  /// Writes `mark` for each space.
  void mark_spaces(std::string mark) {
    steps_.push_back({Kind::mark_spaces, {.text = std::move(mark)}});
  }

  bool is_empty() const { return steps_.empty(); }
  bool composes() const;
  bool prepends() const;
  /// What stands for a space; empty if spaces stay.
  std::string space_mark() const;

  /// Where a text stands that is normalised.
  struct Place {
    bool begins_document = true;  ///< rather than following an added token
    bool continues = false;       ///< follows other text, so that nothing is put before it
  };
  /// @param well_formed  with_placeholders(text).
  NormalizedText apply(std::string_view text, std::string_view well_formed, Place place) const;

 private:
  enum class Kind { compose, prepend, mark_spaces };
  struct Step {
    Kind kind;
    Prepend prefix;  // or the mark of a space
  };
  bool has(Kind kind) const;

  std::vector<Step> steps_;
};

}  // namespace headscope
