#include "report/report_findings.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headscope/number_text.hpp"
#include "report/report_contract.hpp"
#include "report/report_pages.hpp"

namespace headscope {
namespace {

std::optional<std::uint64_t> count_attribute(const Results& results, const std::string& name) {
  const auto found = results.attributes.find(name);
  if (found == results.attributes.end()) return std::nullopt;
  const auto* const count = std::get_if<std::int64_t>(&found->second);
  if (count == nullptr || *count < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*count);
}

std::size_t largest(const std::vector<double>& values) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > values[best] || std::isnan(values[best])) best = i;
  }
  return best;
}

// Of those that are numbers: a pruned head has none.
double mean(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string model_line(const Results& results, const HeadShape& shape) {
  std::string text = model_name(results) + " has " + count_text(shape.n_layer, "layer") + " of " +
                     count_text(shape.n_head, "head");
  const Variable* const count = find_variable(results, contract::parameter_count);
  if (count != nullptr && count->values.size() > 0) {
    text += " and " + number_text(count->values.values.back() / 1e6, 4) + " million parameters";
  }
  text += ".";
  const std::optional<std::uint64_t> n_token = count_attribute(results, "n_token"),
                                     n_document = count_attribute(results, "n_document");
  if (n_token && n_document) {
    text += " It was watched reading " + grouped(*n_token) + " tokens in " +
            count_text(*n_document, "document");
    if (const auto loss = find_number(results, contract::loss_baseline)) {
      text += "; its loss is " + number_text(*loss, 3) + " nats per token";
    }
    text += ".";
  }
  return text;
}

std::string type_line(const Results& results, const HeadShape& shape) {
  const std::optional<HeadTypes> types = head_types(results, shape);
  if (!types) return "";
  std::vector<std::pair<std::size_t, std::string>> counts;
  for (std::size_t type = 0; type < types->names.size(); ++type) {
    const auto n = static_cast<std::size_t>(
        std::count_if(types->of_head.begin(), types->of_head.end(),
                      [&](const std::vector<bool>& head) { return head[type]; }));
    if (n > 0) counts.emplace_back(n, spaced(types->names[type]));
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto n_typed = static_cast<std::size_t>(std::count_if(
      types->of_head.begin(), types->of_head.end(), [](const std::vector<bool>& head) {
        return std::find(head.begin(), head.end(), true) != head.end();
      }));
  std::string text = std::to_string(n_typed) + " of " + std::to_string(shape.n_unit()) +
                     " heads have a job that passes its threshold";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    text += (i == 0 ? ": " : ", ") + std::to_string(counts[i].first) + " " + counts[i].second;
  }
  return text + " (a head may have several).";
}

// Of the heads that one half of the documents chose, the one furthest above its baseline on the
// other half.
std::string syntax_line(const Results& results, const HeadShape& shape) {
  const Variable* const accuracy = find_variable(results, contract::relation_best);
  const Variable* const baseline = find_variable(results, contract::relation_baseline);
  const Variable* const tested = find_variable(results, contract::relation_tested);
  const Variable* const layer = find_variable(results, contract::relation_best_layer);
  const Variable* const head = find_variable(results, contract::relation_best_head);
  for (const Variable* variable : {baseline, tested, layer, head}) {
    if (accuracy == nullptr || variable == nullptr ||
        variable->values.size() != accuracy->values.size()) {
      return "";
    }
  }
  std::vector<double> gain(accuracy->values.size(), std::nan(""));
  for (std::size_t i = 0; i < gain.size(); ++i) {
    if (tested->values.values[i] != 1 || layer->values.values[i] < 0) continue;
    gain[i] = accuracy->values.values[i] - baseline->values.values[i];
  }
  const ResultsGroup& group = *find_group(results, contract::relation_best.group);
  const std::vector<std::string> relations = dimension_labels(group, "relation");
  const std::vector<std::string> directions = dimension_labels(group, "direction");
  if (gain.empty() || gain.size() != relations.size() * directions.size()) return "";
  if (!has_number(gain)) {
    return "No relation has enough held-out arcs to be tested, so that whether a head finds one "
           "cannot be told.";
  }
  const std::size_t best = largest(gain);
  if (!(gain[best] > 0)) return "No head finds a syntactic relation better than a fixed offset.";
  const auto unit = static_cast<std::size_t>(layer->values.values[best]) * shape.n_head +
                    static_cast<std::size_t>(head->values.values[best]);
  return shape.text(unit) + " is furthest above its baseline: in " +
         percent(accuracy->values.values[best]) + " of held-out " +
         relations[best / directions.size()] + " arcs (" +
         spaced(directions[best % directions.size()]) +
         ") it attends most to the right word, where the best fixed offset is right in " +
         percent(baseline->values.values[best]) + ".";
}

std::string repetition_line(const Results& results, const HeadShape& shape) {
  const std::vector<double> induction = head_values(results, contract::induction, shape);
  const std::vector<double> previous = head_values(results, contract::previous_token, shape);
  std::string text;
  if (!induction.empty()) {
    const std::size_t head = largest(induction);
    text += "On repeated random tokens " + shape.text(head) + " puts " + percent(induction[head]) +
            " of its attention on what followed last time, more than any other head. ";
  }
  if (!previous.empty()) {
    const std::size_t head = largest(previous);
    text +=
        shape.text(head) + " looks at the previous token most (" + percent(previous[head]) + ").";
  }
  return text;
}

std::string sink_line(const Results& results, const HeadShape& shape) {
  const std::vector<double> sink = head_values(results, contract::sink, shape);
  if (sink.empty()) return "";
  const std::size_t head = largest(sink);
  return "Heads park " + percent(mean(sink)) + " of their attention on the first token; " +
         shape.text(head) + " parks the most (" + percent(sink[head]) + ").";
}

std::string pruning_line(const Results& results, const HeadShape& shape) {
  const std::vector<double> cost = head_values(results, contract::loss_increase, shape, "zero");
  const std::optional<double> baseline = find_number(results, contract::loss_baseline);
  if (cost.empty() || !baseline) return "";
  const std::size_t head = largest(cost);
  std::string text = "Setting " + shape.text(head) + " to zero costs most: the loss rises by " +
                     number_text(cost[head], 3) + " nats (" + percent(cost[head] / *baseline) +
                     ").";
  const auto n_interval = find_number(results, contract::n_interval, "zero");
  const auto n_harmless = find_number(results, contract::n_harmless, "zero");
  if (!n_interval || !n_harmless) return text;
  if (*n_interval == 0) {
    return text +
           " Which heads can go without a measurable increase cannot be told: there are no "
           "intervals.";
  }
  return text +
         " Heads that can each go without a measurable increase: " + number_text(*n_harmless, 0) +
         " of " + number_text(*n_interval, 0) + ".";
}

std::string curve_line(const Results& results) {
  const Variable* const share = find_variable(results, contract::prunable_share);
  if (share == nullptr || share->dimensions != std::vector<std::string>{"tolerance"}) return "";
  const std::vector<double>& tolerances =
      find_group(results, contract::prunable_share.group)->dimensions.at("tolerance").values;
  std::string text;
  for (std::size_t i = 0; i < std::min(tolerances.size(), share->values.size()); ++i) {
    const std::string heads = percent(share->values.values[i]);
    text += text.empty() ? "Taken together, the least important first, " + heads +
                               " of the heads can go before the loss rises by "
                         : ", and " + heads + " before it rises by ";
    text += percent(tolerances[i]);
  }
  return text.empty() ? "" : text + ".";
}

std::optional<double> mean_cosine(const Results& results, VariableName name) {
  const Variable* const variable = find_variable(results, name);
  if (variable == nullptr || variable->dimensions != std::vector<std::string>{"space", "layer"}) {
    return std::nullopt;
  }
  const std::vector<std::string> spaces =
      dimension_labels(*find_group(results, name.group), "space");
  const auto residual = std::find(spaces.begin(), spaces.end(), "residual");
  if (residual == spaces.end()) return std::nullopt;
  const auto n_layer = static_cast<std::ptrdiff_t>(variable->values.shape[1]);
  const auto first = variable->values.values.begin() + (residual - spaces.begin()) * n_layer;
  return mean(std::vector<double>(first, first + n_layer));
}

std::string likeness_line(const Results& results) {
  const std::optional<double> trained = mean_cosine(results, contract::mean_abs_cosine);
  if (!trained) return "";
  std::string text =
      "What two heads of a layer write has a mean absolute cosine of " + number_text(*trained, 3);
  const std::optional<double> untrained = mean_cosine(results, contract::control_cosine);
  if (!untrained) return text + ".";
  text += "; in an untrained model of this shape it is " + number_text(*untrained, 3);
  const Variable* const variable = find_variable(results, contract::cosine_difference);
  const Estimate difference =
      variable != nullptr && variable->values.size() == 1 ? variable->estimate(0) : Estimate();
  if (!difference.has_interval()) {
    return text + ", without an interval of the difference to say whether training changed it.";
  }
  if (difference.low > 0) return text + ", so that training made them more alike.";
  if (difference.high < 0) return text + ", so that training made them less alike.";
  return text + ". The two cannot be told apart: the interval of their difference holds 0.";
}

std::string weights_line(const Results& results, const HeadShape& shape) {
  const std::vector<double> copying = head_values(results, contract::ov_copying, shape);
  const std::optional<double> n_copying = find_number(results, contract::n_copying),
                              n_opposite = find_number(results, contract::n_opposite);
  if (copying.empty() || !n_copying || !n_opposite) return "";
  const std::size_t head = largest(copying);
  return "Heads whose weights copy what they attend to: " + number_text(*n_copying, 0) +
         "; that write the opposite: " + number_text(*n_opposite, 0) + ". " + shape.text(head) +
         " copies most (" + number_text(copying[head], 2) + ").";
}

std::string claims_line(const Results& results) {
  std::size_t n_claim = 0, n_hold = 0, n_fail = 0;
  for (const ResultsGroup& group : results.groups) {
    for (const Claim& claim : group.claims) {
      ++n_claim;
      n_hold += claim.verdict == Verdict::holds;
      n_fail += claim.verdict == Verdict::does_not_hold;
    }
  }
  if (n_claim == 0) return "";
  return "Of " + count_text(n_claim, "claim") + " about heads put to the test, " +
         std::to_string(n_hold) + " hold for this model, " + std::to_string(n_fail) +
         " do not, and " + std::to_string(n_claim - n_hold - n_fail) + " cannot be decided.";
}

}  // namespace

std::vector<Finding> findings(const Results& results) {
  std::vector<Finding> lines;
  const auto add = [&](const char* about, const std::string& text) {
    if (!text.empty()) lines.push_back({about, text});
  };
  if (const std::optional<HeadShape> shape = head_shape(results)) {
    add("Model", model_line(results, *shape));
    add("Jobs", type_line(results, *shape));
    add("Syntax", syntax_line(results, *shape));
    add("Repetition and position", repetition_line(results, *shape));
    add("Resting place", sink_line(results, *shape));
    add("Pruning one head", pruning_line(results, *shape));
    add("Pruning many", curve_line(results));
    add("Likeness", likeness_line(results));
    add("Weights", weights_line(results, *shape));
  }
  add("Claims", claims_line(results));
  return lines;
}

}  // namespace headscope
