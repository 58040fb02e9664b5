#include "run/run_results.hpp"

#include <malloc.h>

#include <algorithm>
#include <iterator>

#include "headscope/blas.hpp"
#include "headscope/provenance.hpp"
#include "run/plan.hpp"

namespace headscope {
namespace {

/// Gives freed matrices back to the system, now and from now on: in the heap they leave gaps that
/// the memory estimate does not count. Passes, which use matrices of one size again and again, are
/// faster with the heap.
void return_freed_matrices() {
#ifdef M_MMAP_THRESHOLD  // glibc
  constexpr int least_matrix_bytes = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, least_matrix_bytes);
  malloc_trim(0);
#endif
}

std::int64_t as_count(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

void add_provenance(Results& results, const RunInput& input, std::uint64_t n_token) {
  const AnalysisContext& context = input.context;
  const AnalysisSettings& settings = context.settings;
  auto& attributes = results.attributes;
  attributes = input.attributes;
  add_program(results, "Headscope results");
  attributes["seed"] = as_count(settings.seed);
  attributes["blas"] = blas::library_description();
  attributes["precision"] = settings.precision;
  attributes["precision_engine"] = engine_name(settings.engines.differences);
  attributes["pass_engine"] = engine_name(settings.engines.passes);
  attributes["logit_engine"] = engine_name(settings.engines.logits);
  attributes["gradient_engine"] = engine_name(settings.engines.gradients);
  attributes["threads"] = std::int64_t{blas::thread_count()};
  add_model(results, context.model);
  if (context.tasks != nullptr) attributes["tasks_sha256"] = context.tasks->sha256();
  if (context.corpus == nullptr) return;
  attributes["corpus_sha256"] = context.corpus->sha256();
  attributes["n_document"] = as_count(context.corpus->n_document());
  attributes["n_token"] = as_count(n_token);
}

/// Adds the groups of the controls.
void add_controls(const RunInput& input, FinishedControls& controls, Results& results) {
  if (controls.n_untrained == 0) return;
  results.attributes["n_control"] = as_count(controls.n_untrained);
  results.attributes["n_permuted_control"] = as_count(controls.n_permuted);
  results.attributes["n_control_document"] = as_count(control_documents(input).size());
  std::ranges::move(controls.groups, std::back_inserter(results.groups));
}

}  // namespace

void add_titled(std::vector<ResultsGroup> of_analysis, const AnalysisInfo& info,
                std::vector<ResultsGroup>& groups) {
  for (ResultsGroup& group : of_analysis) {
    if (group.name == info.name) group.title = info.title;
    groups.push_back(std::move(group));
  }
}

void FinishedControls::add(const ModelRun& control, int number) {
  ++(is_untrained(number) ? n_untrained : n_permuted);
  for (const ModelRun::Item& item : control.items()) {
    const AnalysisInfo& info = item.registered->info;
    Controls& controls = by_analysis[info.name];
    (is_untrained(number) ? controls.untrained : controls.permuted)
        .push_back(item.analysis->control_values(*item.statistics));
    if (number == 1) add_titled(item.analysis->control_results(*item.statistics), info, groups);
  }
  if (number > 1) return;
  for (ResultsGroup& group : groups) {
    group.name = control_prefix + group.name;
    group.claims.clear();
  }
}

Results finish_results(const RunInput& input, const ModelRun& trained, FinishedControls controls,
                       RunMonitor& monitor) {
  return_freed_matrices();
  Results results;
  add_provenance(results, input, trained.n_token());
  std::vector<std::size_t> main_group;
  trained.share();
  for (const ModelRun::Item& item : trained.items()) {
    main_group.push_back(results.groups.size());
    const AnalysisInfo& info = item.registered->info;
    monitor.phase("results of " + info.name);
    item.analysis->use_controls(controls.by_analysis[info.name]);
    add_titled(item.analysis->finish(*item.statistics), info, results.groups);
  }
  add_controls(input, controls, results);
  for (std::size_t i = 0; i < trained.items().size(); ++i) {
    trained.items()[i].analysis->relate(results, results.groups[main_group[i]]);
  }
  for (ResultsGroup& group : results.groups) {
    std::ranges::stable_sort(group.claims, {}, &Claim::number);
  }
  return results;
}

}  // namespace headscope
