#include "run/plan.hpp"

#include <algorithm>
#include <iterator>

#include "headscope/random.hpp"

namespace headscope {
namespace {

/// Untrained models and models with permuted weights.
constexpr int n_control = 2 * static_cast<int>(n_control_per_kind);

}  // namespace

std::vector<Pass> plan_passes(const RunInput& input) {
  int n_corpus_pass = 0;
  for (const RegisteredAnalysis* analysis : input.analyses) {
    if (analysis->info.needs_corpus()) {
      n_corpus_pass = std::max(n_corpus_pass, analysis->info.n_pass());
    }
  }
  std::vector<Pass> passes(static_cast<std::size_t>(n_corpus_pass));
  for (const RegisteredAnalysis* analysis : input.analyses) {
    const AnalysisInfo& info = analysis->info;
    for (int pass = 0; pass < info.n_pass(); ++pass) {
      if (info.needs_tasks()) {
        passes.push_back({.input = AnalysisInput::tasks, .parts = {{analysis, pass}}});
      } else {
        const auto shared = static_cast<std::size_t>(n_corpus_pass - info.n_pass() + pass);
        passes[shared].parts.push_back({analysis, pass});
      }
    }
  }
  if (!passes.empty()) passes.back().is_last = true;
  const auto documents =
      std::make_shared<const std::vector<std::uint64_t>>(control_documents(input));
  for (int control = 1; control <= n_control; ++control) {
    Pass pass{.control = control, .is_last = true, .documents = documents};
    for (const RegisteredAnalysis* analysis : controlled_analyses(input, control)) {
      pass.parts.push_back({analysis, analysis->info.control_pass});
    }
    if (!pass.parts.empty()) passes.push_back(std::move(pass));
  }
  for (std::size_t i = 0; i < passes.size(); ++i) passes[i].number = static_cast<int>(i) + 1;
  return passes;
}

std::vector<const RegisteredAnalysis*> controlled_analyses(const RunInput& input, int control) {
  std::vector<const RegisteredAnalysis*> controlled;
  if (!input.has_control) return controlled;
  std::ranges::copy_if(input.analyses, std::back_inserter(controlled),
                       [&](const RegisteredAnalysis* analysis) {
                         return analysis->info.control_pass >= 0 &&
                                (is_untrained(control) || analysis->info.has_permuted_control);
                       });
  return controlled;
}

std::vector<std::uint64_t> control_documents(const RunInput& input) {
  const Corpus* const corpus = input.context.corpus;
  const std::uint64_t n_document = corpus != nullptr ? corpus->n_document() : 0,
                      asked = input.n_control_document;
  const std::uint64_t n_pair = (n_document + 1) / 2,
                      n_chosen = asked == 0 ? n_pair : std::min(n_pair, (asked + 1) / 2);
  constexpr std::uint64_t control_document_stream = std::uint64_t{9} << 60;
  const CounterRandom random(input.context.settings.seed, control_document_stream);
  std::vector<std::uint64_t> documents;
  for (const Index pair : spread_sample(n_pair, n_chosen, random)) {
    documents.push_back(2 * pair);
    if (2 * pair + 1 < n_document) documents.push_back(2 * pair + 1);
  }
  return documents;
}

}  // namespace headscope
