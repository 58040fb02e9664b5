#include "comparison/comparison_group.hpp"

#include <algorithm>
#include <map>

#include "base/fields.hpp"
#include "base/label_text.hpp"
#include "base/text.hpp"
#include "headscope/error.hpp"
#include "results/slices.hpp"

namespace headscope {
namespace {

std::string underscored(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name;
}

}  // namespace

std::string in_words(std::string name, const std::string& label) {
  static const std::map<std::string, std::string> words{{"qk", "query-key"},
                                                        {"ov", "value-output"},
                                                        {"js", "Jensen-Shannon"},
                                                        {"cka", "CKA"},
                                                        {"rank90", "rank for 90 %"}};
  const std::string text =
      joined(fields::split_words(spaced(std::move(name))), " ", [](const std::string& part) {
        const auto found = words.find(part);
        return found == words.end() ? part : found->second;
      });
  return label.empty() ? text : text + ", " + spaced(label);
}

std::vector<ComparedSlice> compared_slices(const ResultsGroup& group, const Variable& variable) {
  const bool by_run = !variable.dimensions.empty() && variable.dimensions.front() == "run";
  if (variable.type == Variable::Type::text || !by_run || variable.values.size() == 0) {
    throw Error("results " + group.name + " variable " + variable.name +
                ": expected numbers by run, got another");
  }
  const std::size_t n_run = variable.values.shape[0];
  std::vector<ComparedSlice> compared;
  for (const Slice& slice : slices(group, variable, {"run", "layer", "head"})) {
    ComparedSlice& joined_slice = compared.emplace_back(ComparedSlice{slice.label, {}});
    const auto n_head = static_cast<std::ptrdiff_t>(slice.at.size() / n_run);
    for (auto run = slice.at.begin(); run != slice.at.end(); run += n_head) {
      joined_slice.at.emplace_back(run, run + n_head);
    }
  }
  return compared;
}

const Variable* with_suffix(const ResultsGroup& group, const Variable& variable,
                            const std::string& suffix) {
  const Variable* const found = group.find(variable.name + suffix);
  const bool is_alike = found != nullptr && found->type != Variable::Type::text &&
                        found->dimensions == variable.dimensions;
  return is_alike ? found : nullptr;
}

std::string difference_suffix(const std::string& measure, const std::set<std::string>& measures) {
  return measures.contains(measure + "_difference") ? "_difference_from_first" : "_difference";
}

const Variable* type_transition_of(const ResultsGroup& group) {
  const Variable* const found = group.find("type_transition");
  const bool is_one =
      found != nullptr && found->type != Variable::Type::text &&
      found->dimensions == std::vector<std::string>{"run", "type_from", "type_to"} &&
      group.dimension("type_from").text == group.dimension("type_to").text;
  return is_one ? found : nullptr;
}

std::string joined_name(const std::string& group, const std::string& variable) {
  return underscored(group + "_" + variable);
}

ComparedHeads::ComparedHeads(const ResultsGroup& comparison) {
  const Variable* const found = comparison.find(head_removed_variable);
  const bool is_flag_by_run_and_head =
      found != nullptr && found->type == Variable::Type::flag &&
      found->dimensions == std::vector<std::string>{"run", "layer", "head"};
  if (is_flag_by_run_and_head) removed_ = found;
}

bool ComparedHeads::is_lost(std::size_t run, std::size_t head_index) const {
  if (removed_ == nullptr) return false;
  const std::size_t n_head_total = removed_->values.size() / removed_->values.shape[0];
  return removed_->values.values[run * n_head_total + head_index] == 1;
}

std::string ordering_of(const ResultsGroup& comparison) {
  const std::vector<std::string>& name = comparison.texts("ordering_name");
  if (name.empty()) throw Error("results comparison: expected a text in ordering_name, got none");
  return name.front();
}

std::set<std::string> auxiliary_variables(const std::vector<Presentation>& presentations) {
  std::set<std::string> names;
  for (const Presentation& presentation : presentations) {
    for (const std::string& variable : presentation.auxiliary) {
      const std::string name = joined_name(presentation.group, variable);
      names.insert({name, name + "_difference"});
    }
  }
  return names;
}

bool is_score(const Variable& variable, const std::set<std::string>& auxiliary) {
  return !auxiliary.contains(variable.name) &&
         !variable.name.starts_with(underscored(control_prefix));
}

}  // namespace headscope
