#include "unused_options.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"

namespace headscope {
namespace {

/// The analyses that read an option, and what is said where none of them runs.
struct OptionReaders {
  std::set<std::string> analyses;
  std::string reason;
};

/// Of an option that only some analyses read; none of other options.
OptionReaders readers_of(const Option& option) {
  static const std::map<std::string, OptionReaders> of_several{
      {"bootstrap",
       {{"circuits", "classification", "correlation", "paths", "pruning", "score_model", "tasks"},
        "no analysis with intervals runs"}},
      {"nulls", {{"circuits", "parameters"}, "no analysis of weights alone runs"}},
      {"precision",
       {{"classification", "paths", "pruning", "score_model", "tasks"},
        "no analysis that ablates heads runs"}}};
  if (!option.analysis.empty()) {
    return {{option.analysis}, "the analysis " + option.analysis + " does not run"};
  }
  const auto found = of_several.find(option.name);
  return found == of_several.end() ? OptionReaders() : found->second;
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
  const OptionReaders readers = readers_of(option);
  return !readers.analyses.empty() &&
         std::ranges::none_of(analyses, [&](const RegisteredAnalysis* analysis) {
           return readers.analyses.contains(analysis->info.name);
         });
}

std::vector<std::string> unused_option_notes(const RunOptions& options,
                                             const std::vector<const RegisteredAnalysis*>& analyses,
                                             const AnalysisContext& context) {
  std::vector<std::string> notes;
  if (!options.restored_from.empty()) return notes;
  for (const Option& option : options.table.options()) {
    if (!option.given) continue;
    const std::string begin = "does not use --" + option.name + ": ";
    if (is_idle(option, analyses)) notes.push_back(begin + readers_of(option).reason);
    for (const std::string& reason :
         {unread_input(option.name, context), missing_kinds(option.name, context.corpus)}) {
      if (!reason.empty()) notes.push_back(begin + reason);
    }
  }
  return notes;
}

}  // namespace headscope
