#include <cmath>

#include "base/number_text.hpp"
#include "correlation/results.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

std::string trained_text(double mean_abs_cosine) {
  return "What two heads of a layer write has a mean absolute cosine of " +
         number_text(mean_abs_cosine, 3);
}

/// Mean over untrained models and layers of |cosine| in residual space.
double mean_untrained(const ResultsGroup& group) {
  const Array& values = group.values("mean_abs_cosine_control");
  double mean = 0;
  for (std::size_t control = 0; control < values.shape[0]; ++control) {
    mean += mean_of_numbers(values.part(control).part(residual_space).values) /
            static_cast<double>(values.shape[0]);
  }
  return mean;
}

Description description(const Results& results) {
  const ResultsGroup& group = results.group("correlation");
  const double trained = group.scalar("mean_abs_cosine_mean");
  Description description;
  if (!group.has("mean_abs_cosine_difference_mean")) {
    description.add("Likeness", trained_text(trained) + ".");
  } else {
    description.add("Likeness",
                    likeness_line(trained, mean_untrained(group),
                                  group.variable("mean_abs_cosine_difference_mean").estimate(0)));
  }
  return description;
}

}  // namespace

std::string likeness_line(double trained, double untrained, const Estimate& difference) {
  const std::string text = trained_text(trained) + "; in untrained models of this shape it is " +
                           number_text(untrained, 3);
  if (!difference.has_interval()) {
    return text + ", without an interval of the difference to say whether training changed it.";
  }
  if (difference.low > 0) return text + ", so that training made them more alike.";
  if (difference.high < 0) return text + ", so that training made them less alike.";
  return text + ". The two cannot be told apart: the interval of their difference holds 0.";
}

Presentation correlation_presentation() {
  return {.group = "correlation",
          .describe = description,
          .scores = {{"OV and QK circuits", {"output_share"}}},
          .nearest = {{.title = "Attend most alike (distance)",
                       .variable = "js_distance",
                       .smallest = true,
                       .chance = "",
                       .alike = true},
                      {.title = "Write most alike (cosine)",
                       .variable = "cosine_all",
                       .chance = "",
                       .alike = true}},
          .measures = {{"mean_abs_cosine", "mean_abs_cosine_mean", ""},
                       {"mean_abs_cosine_difference", "mean_abs_cosine_difference_mean", ""},
                       {"disagreement", "disagreement_mean", ""}}};
}

}  // namespace headscope
