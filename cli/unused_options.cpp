#include "unused_options.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"

namespace headscope {
namespace {

/// The analyses that do not read an option of all analyses, and what is said where no other runs.
struct NoReaders {
  std::set<std::string> analyses;
  std::string reason;
};

/// Why none of the analyses reads the option; empty if one does.
std::string idle_reason(const Option& option,
                        const std::vector<const RegisteredAnalysis*>& analyses) {
  static const std::map<std::string, NoReaders> of_all{
      {"bootstrap", {{"attention", "parameters"}, "no analysis with intervals runs"}},
      {"nulls",
       {{"attention", "classification", "correlation", "paths", "pruning", "score_model", "tasks"},
        "no analysis of weights alone runs"}},
      {"precision",
       {{"attention", "circuits", "correlation", "parameters"},
        "no analysis that ablates heads runs"}}};
  const auto of_option = of_all.find(option.name);
  const bool is_of_one = !option.analysis.empty();
  if (!is_of_one && of_option == of_all.end()) return "";
  const auto reads = [&](const RegisteredAnalysis* analysis) {
    const std::string& name = analysis->info.name;
    return is_of_one ? option.analysis == name : !of_option->second.analyses.contains(name);
  };
  if (std::ranges::any_of(analyses, reads)) return "";
  return is_of_one ? "the analysis " + option.analysis + " does not run" : of_option->second.reason;
}

/// Why nothing reads what an option of corpus or tasks is about: `no analysis reads text`. Empty
/// for other options.
std::string unread_input(const std::string& option, const AnalysisContext& context) {
  static const std::set<std::string> of_corpus{"document-sentences", "encoding",
                                               "literal-special-tokens", "max-documents"},
      of_text{"bos", "context", "no-bos", "save-every", "tokenizer"};
  if (context.tasks == nullptr && option == "task-pairs") return "no analysis reads tasks";
  if (context.corpus != nullptr) return "";
  if (of_corpus.contains(option)) return "no analysis reads a corpus";
  if (context.tasks != nullptr || !of_text.contains(option)) return "";
  // The costs of a rotary model's heads are those of --context tokens (config_of_run).
  const bool is_used =
      option == "context" && context.model.config.positions == PositionKind::rotary;
  return is_used ? "" : "no analysis reads text";
}

/// `the corpus has no CoNLL-U`, for an option that is about other kinds of files alone; else empty.
std::string missing_kinds(const std::string& option, const Corpus* corpus) {
  static const std::map<std::string, std::set<std::string>> kinds_read{
      {"document-sentences", {"CoNLL-U"}},
      {"literal-special-tokens", {"plain text"}},
      {"encoding", {"CoNLL-U", "plain text"}}};
  const auto kinds = kinds_read.find(option);
  if (corpus == nullptr || kinds == kinds_read.end()) return "";
  const auto is_there = [&](const std::string& kind) { return corpus->kinds().contains(kind); };
  if (std::ranges::any_of(kinds->second, is_there)) return "";
  return "the corpus has no " + joined(kinds->second, " or ");
}

}  // namespace

bool is_idle(const Option& option, const std::vector<const RegisteredAnalysis*>& analyses) {
  return !idle_reason(option, analyses).empty();
}

std::vector<std::string> unused_option_notes(const RunOptions& options,
                                             const std::vector<const RegisteredAnalysis*>& analyses,
                                             const AnalysisContext& context) {
  std::vector<std::string> notes;
  if (!options.restored_from.empty()) return notes;
  for (const Option& option : options.table.options()) {
    if (!option.given) continue;
    const std::string begin = "does not use --" + option.name + ": ";
    for (const std::string& reason :
         {idle_reason(option, analyses), unread_input(option.name, context),
          missing_kinds(option.name, context.corpus)}) {
      if (!reason.empty()) notes.push_back(begin + reason);
    }
  }
  return notes;
}

}  // namespace headscope
