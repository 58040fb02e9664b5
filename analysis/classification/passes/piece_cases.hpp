#pragma once

#include <map>
#include <string>
#include <vector>

#include "classification/tests/paired.hpp"
#include "scores/words.hpp"

namespace headscope {

/// Counts of an odd document's pieces so far, by test.
using DocumentCounts = std::map<std::string, PairedCounts>;

/// The arcs that are scored in a piece and, of odd documents, the counts that the piece adds to: of
/// each arc, and of pronouns.
struct PieceCases {
  std::vector<Arc> arcs;
  std::vector<PairedCounts*> arc_counts;
  PairedCounts* pronoun_counts = nullptr;

  /// Adds the piece's cases and the rules' hits to the counts of an odd document.
  PieceCases(const WordStructure& words, std::uint64_t document, Index n_head_total,
             DocumentCounts& counts);
  /// @param largest  by word, each word's most attended earlier word.
  void count_hits(const std::vector<Index>& largest, const WordStructure& words,
                  Index head_index) const;
};

}  // namespace headscope
