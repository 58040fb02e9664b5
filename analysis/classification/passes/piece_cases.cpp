#include "classification/passes/piece_cases.hpp"

#include <algorithm>

#include "scores/sums.hpp"

namespace headscope {

PieceCases::PieceCases(const WordStructure& words, std::uint64_t document, Index n_head_total,
                       DocumentCounts& counts) {
  std::ranges::copy_if(words.arcs, std::back_inserter(arcs),
                       [](const Arc& arc) { return is_scored_relation(arc.relation); });
  if (document % 2 == 0) return;
  const auto counts_of = [&](const std::string& test, Index n_rule) {
    return &counts.try_emplace(test, n_rule, n_head_total).first->second;
  };
  for (const Arc& arc : arcs) {
    PairedCounts* const of_arc = counts_of(
        relation_test_name(arc.relation, static_cast<Index>(arc.direction)), n_relation_rule);
    of_arc->add_case();
    const Index offset = arc.later - arc.earlier;
    if (offset <= longest_offset) of_arc->add_rule_hit(offset);
    if (arc.nearest_class != no_position) {
      of_arc->add_rule_hit(longest_offset + 1 + arc.nearest_class);
    }
    arc_counts.push_back(of_arc);
  }
  pronoun_counts = counts_of(pronoun_test_name, n_coreference_rule);
  for (const CoreferenceQuery& query : words.references) {
    if (!query.is_pronoun) continue;
    pronoun_counts->add_case();
    for (std::size_t rule = 0; rule < n_coreference_rule; ++rule) {
      if (query.rule_is_right[rule]) pronoun_counts->add_rule_hit(rule);
    }
  }
}

void PieceCases::count_hits(const std::vector<Index>& largest, const WordStructure& words,
                            Index head_index) const {
  for (std::size_t i = 0; i < arc_counts.size(); ++i) {
    if (largest[arcs[i].later] == arcs[i].earlier) arc_counts[i]->add_head_hits(head_index, 1);
  }
  if (pronoun_counts != nullptr) {
    pronoun_counts->add_head_hits(head_index,
                                  coreference_accuracy(largest, words.references, true).numerator);
  }
}

}  // namespace headscope
