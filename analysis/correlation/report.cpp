#include <cmath>

#include "correlation/results.hpp"
#include "headscope/number_text.hpp"

namespace headscope {
namespace {

Finding likeness(const std::string& text) {
  return {30, "Likeness", text};
}

std::string trained_text(double mean_abs_cosine) {
  return "What two heads of a layer write has a mean absolute cosine of " +
         number_text(mean_abs_cosine, 3);
}

}  // namespace

Finding likeness_finding(double trained, double untrained, const Estimate& difference) {
  const std::string text = trained_text(trained) + "; in untrained models of this shape it is " +
                           number_text(untrained, 3);
  if (!difference.has_interval()) {
    return likeness(text +
                    ", without an interval of the difference to say whether training changed it.");
  }
  if (difference.low > 0) return likeness(text + ", so that training made them more alike.");
  if (difference.high < 0) return likeness(text + ", so that training made them less alike.");
  return likeness(text +
                  ". The two cannot be told apart: the interval of their difference holds 0.");
}

ReportPart correlation_report(double mean_abs_cosine) {
  ReportPart part;
  part.findings = {likeness(trained_text(mean_abs_cosine) + ".")};
  part.scores = {{30, "OV and QK circuits", {"output_share"}}};
  part.nearest = {{.rank = 10,
                   .title = "Attend most alike (distance)",
                   .variable = "js_distance",
                   .smallest = true,
                   .chance = "",
                   .alike = true},
                  {.rank = 10,
                   .title = "Write most alike (cosine)",
                   .variable = "cosine_all",
                   .chance = "",
                   .alike = true}};
  part.measures = {{"mean_abs_cosine", "mean_abs_cosine_mean", ""},
                   {"mean_abs_cosine_difference", "mean_abs_cosine_difference_mean", ""},
                   {"disagreement", "disagreement_mean", ""}};
  return part;
}

}  // namespace headscope
