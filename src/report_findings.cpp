#include "report_findings.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "long_table.hpp"
#include "report_contract.hpp"
#include "report_pages.hpp"

namespace headscope {
namespace {

std::string percent(double share) {
  return number_text(100 * share, std::abs(share) < 0.1 ? 2 : 3) + "\u00a0%";
}

std::string count_of(std::size_t n, const std::string& one, const std::string& many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string attribute(const Results& results, const std::string& name) {
  const auto found = results.attributes.find(name);
  return found == results.attributes.end() ? "" : attribute_text(found->second);
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

// 28830 as 28,830.
std::string thousands(std::string digits) {
  for (std::size_t place = digits.size(); place > 3;) digits.insert(place -= 3, ",");
  return digits;
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string model_line(const Results& results, const HeadShape& shape) {
  std::string text = model_name(results) + " has " + count_of(shape.n_layer, "layer", "layers") +
                     " of " + count_of(shape.n_head, "head", "heads");
  const Variable* const count = find_variable(results, contract::parameter_count);
  if (count != nullptr && count->values.size() > 0) {
    text += " and " + number_text(count->values.values.back() / 1e6, 4) + " million parameters";
  }
  text += ".";
  const std::string tokens = attribute(results, "n_token");
  const std::string documents = attribute(results, "n_document");
  if (!tokens.empty() && !documents.empty()) {
    text +=
        " It was watched reading " + thousands(tokens) + " tokens in " + documents + " documents";
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
    return "No relation has held-out arcs enough to be tested, so that whether a head finds one "
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

// The most heads that can go before the loss exceeds `limit`, over the orders that look.
double prunable_share(const Variable& curve, const ResultsGroup& group, double limit) {
  const std::vector<std::string> orders = dimension_labels(group, "order");
  const std::vector<double>& steps = group.dimensions.at("step").values;
  double most = 0;
  for (std::size_t order = 0; order < orders.size(); ++order) {
    if (orders[order] == "random") continue;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      if (!(curve.values(order, step) <= limit)) break;
      most = std::max(most, steps[step]);
    }
  }
  return most;
}

std::string curve_line(const Results& results) {
  const Variable* const curve = find_variable(results, contract::pruning_curve);
  const std::optional<double> baseline = find_number(results, contract::loss_baseline);
  if (curve == nullptr || !baseline) return "";
  if (curve->dimensions != std::vector<std::string>{"order", "step"}) return "";
  const ResultsGroup& group = *find_group(results, contract::pruning_curve.group);
  return "Taken together, the least important first, " +
         percent(prunable_share(*curve, group, 1.01 * *baseline)) +
         " of the heads can go before the loss rises by 1\u00a0%, and " +
         percent(prunable_share(*curve, group, 1.05 * *baseline)) + " before it rises by 5\u00a0%.";
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
  const std::optional<double> low = find_number(results, contract::difference_low),
                              high = find_number(results, contract::difference_high);
  if (!low || !high) {
    return text + ", without an interval of the difference to say whether training changed it.";
  }
  if (*low > 0) return text + ", so that training made them more alike.";
  if (*high < 0) return text + ", so that training made them less alike.";
  return text + ". The two cannot be told apart: the interval of their difference holds 0.";
}

std::string weights_line(const Results& results, const HeadShape& shape) {
  const std::vector<double> copying = head_values(results, contract::ov_copying, shape);
  if (copying.empty()) return "";
  const auto n_copy =
      std::count_if(copying.begin(), copying.end(), [](double score) { return score > 0.5; });
  const auto n_opposite =
      std::count_if(copying.begin(), copying.end(), [](double score) { return score < -0.5; });
  const std::size_t head = largest(copying);
  return "Heads whose weights copy what they attend to (OV copying above 0.5): " +
         std::to_string(n_copy) +
         "; that write the opposite (below −0.5): " + std::to_string(n_opposite) + ". " +
         shape.text(head) + " copies most (" + number_text(copying[head], 2) + ").";
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
  return "Of " + count_of(n_claim, "claim", "claims") + " about heads put to the test, " +
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
