#include "classification/memory.hpp"

#include "classification/examples/examples.hpp"
#include "classification/explained/explained.hpp"
#include "classification/passes/piece_scores.hpp"
#include "classification/types/registry.hpp"

namespace headscope {

std::uint64_t classification_memory(const RunShape& run) {
  const ModelConfig& config = run.config;
  const std::uint64_t n_head_total = run.n_head_total(), square = run.n_token * run.n_token;
  const std::uint64_t first = n_variability_position * n_variability_position;
  const std::uint64_t ratios =
      (n_head_score + 2 * n_offset + n_word_class + 4) * n_block * n_head_total +
      n_semantic_permutation * n_head_total + 2 * n_coreference_rule * n_block;
  const std::uint64_t n_test = 2 * run.n_relation;  // both directions
  const std::uint64_t relations = n_test * n_block * (n_head_total + n_relation_rule + 1);
  const std::uint64_t accuracies = n_test * n_head_total * run.settings.n_bootstrap;
  const std::uint64_t paired = n_test * paired_bytes(n_relation_rule, n_head_total) +
                               paired_bytes(n_coreference_rule, n_head_total);
  const std::uint64_t n_case = head_type_list().size();  // at a token: at most one a type
  const std::uint64_t examples = std::min(n_example_document, (run.n_document + 1) / 2) *
                                 n_head_total * n_case * n_example_token(run.n_token);
  // Rows of examples; resampled accuracies of all relations; sums; word attention per thread; token
  // similarities; resamples of one score.
  return Statistics::row_bytes * examples + paired + accuracies * sizeof(double) +
         Statistics::sum_bytes * (2 * ratios + relations + first * n_head_total + config.d_vocab) +
         CopyEffects::memory(config, run.n_token) +
         LogitLens::bytes(config, run.n_token, run.n_thread, run.settings.engines.screening) +
         Explanation::memory(config, run.n_token, 3 * n_head_total, run.n_thread,
                             run.settings.engines) +
         Statistics::sum_bytes * config.n_layer * config.d_model +
         static_cast<std::uint64_t>(run.n_thread) * square * sizeof(double) +
         square * sizeof(float) +
         n_word_class * 2 * n_head_total * run.settings.n_bootstrap * sizeof(double);
}

}  // namespace headscope
