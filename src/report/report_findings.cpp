#include "base/number_text.hpp"
#include "headscope/report.hpp"
#include "report/head_variables.hpp"
#include "report/report_pages.hpp"

namespace headscope {
namespace {

// `before` and the field of the first description that has it; empty if none does.
std::string said_of_model(const std::vector<Description>& descriptions,
                          std::string Description::*what, const std::string& before) {
  for (const Description& each : descriptions) {
    if (!(each.*what).empty()) return before + each.*what;
  }
  return "";
}

std::string model_line(const Results& results, const std::vector<Description>& descriptions,
                       const HeadShape& shape) {
  std::string text = model_name(results) + " has " + count_text(shape.n_layer, "layer") + " of " +
                     count_text(shape.n_head, "head") +
                     said_of_model(descriptions, &Description::model_size, " and ") + ".";
  const std::int64_t n_token = results.whole("n_token").value_or(-1),
                     n_document = results.whole("n_document").value_or(-1);
  if (n_token >= 0 && n_document >= 0) {
    text += " It was watched reading " + grouped(static_cast<std::uint64_t>(n_token)) +
            " tokens in " + count_text(static_cast<std::size_t>(n_document), "document") +
            said_of_model(descriptions, &Description::model_loss, "; ") + ".";
  }
  return text;
}

std::string claims_line(const Results& results) {
  std::size_t n_claim = 0, n_hold = 0, n_fail = 0;
  for (const ResultsGroup& group : results.groups) {
    for (const Claim& claim : group.claims) {
      if (claim.arithmetic) continue;
      ++n_claim;
      n_hold += claim.verdict == Verdict::holds;
      n_fail += claim.verdict == Verdict::does_not_hold;
    }
  }
  if (n_claim == 0) return "";
  return "Of " + count_text(n_claim, "claim") + " about heads put to the test, " +
         std::to_string(n_hold) + (n_hold == 1 ? " holds" : " hold") + " for this model, " +
         std::to_string(n_fail) + (n_fail == 1 ? " does" : " do") + " not, and " +
         std::to_string(n_claim - n_hold - n_fail) + " cannot be decided.";
}

}  // namespace

std::vector<Finding> findings(const Results& results,
                              const std::vector<Description>& descriptions) {
  std::vector<Finding> lines;
  const auto add = [&](const char* about, const std::string& text) {
    if (!text.empty()) lines.push_back({.about = about, .text = text});
  };
  const std::optional<HeadShape> shape = head_shape(results);
  add("Warning", results.text("corpus_warning"));
  for (const Description& each : descriptions) add("Warning", each.warning);
  if (shape && results.attributes.contains("model_path")) {
    add("Model", model_line(results, descriptions, *shape));
  }
  for (const Description& each : descriptions) {
    lines.insert(lines.end(), each.findings.begin(), each.findings.end());
  }
  add("Claims", claims_line(results));
  return lines;
}

}  // namespace headscope
