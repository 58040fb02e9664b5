#pragma once

#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "significance.hpp"

namespace headscope {

inline constexpr std::size_t n_task_ablation = 2;  ///< zero, mean

/// Names of the sums of a task, by its number.
struct TaskSums {
  explicit TaskSums(std::size_t task);

  // Of the first pass.
  std::string z;        ///< layer x d_model, over the tokens of both sides after position 0
  std::string n_token;  ///< 1, tokens of z
  // Of the second pass; by block of pairs (document_block).
  std::string n_pair;         ///< block
  std::string margin;         ///< block, nats
  std::string correct;        ///< block, pairs with margin > 0
  std::string margin_change;  ///< block x ablation x layer x head, nats
  // Over all pairs.
  std::string squared_change;   ///< ablation x layer x head, of the pairs' margin changes
  std::string correct_change;   ///< ablation x layer x head, pairs with margin > 0 won
  std::string first_order;      ///< layer x head, nats
  std::string direct_effect;    ///< layer x head, logits
  std::string n_direct_effect;  ///< 1, pairs with a direct effect
};

/// Group `tasks` from the summed statistics.
ResultsGroup tasks_results(const Statistics& statistics, const std::vector<Task>& tasks,
                           const ModelConfig& config, const AnalysisSettings& settings);

/// The part of the report about the finished group.
Presentation tasks_presentation();
/// One sentence for the group's section.
std::string tasks_summary(const ResultsGroup& group);

/// The heads a task needs, by `share_lost`, greatest first.
std::vector<Index> needed_heads(const ResultsGroup& group, std::size_t task);

/// The claim that heads that look along a relation are those a task about it needs, from the
/// relations that classification found; nothing if no task has a relation.
std::optional<Claim> looks_does_claim(const ResultsGroup& group, const Results& all,
                                      const AnalysisSettings& settings);

std::vector<Figure> tasks_figures(const Results& results);

}  // namespace headscope
