#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "correlation/likeness.hpp"
#include "correlation/results.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

std::string trained_text(double mean_abs_cosine) {
  return "The outputs of two heads of a layer have a mean absolute cosine of " +
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

/// The difference from untrained models with an interval that includes 0 unless the difference is
/// larger than that of a further untrained model would be, in any space and layer, in 95 % of runs.
/// @param controls  control x space x layer.
/// @param place     in space x layer.
Estimate beside_untrained(Estimate difference, const Array& controls, std::size_t place) {
  const std::size_t n_place = controls.shape[1] * controls.shape[2];
  std::vector<double> untrained;
  for (std::size_t i = place; i < controls.size(); i += n_place) {
    untrained.push_back(controls.values[i]);
  }
  const double half_width =
      prediction_half_width(untrained, 1 - 0.05 / static_cast<double>(n_place));
  difference.low = std::min(difference.low, difference.value - half_width);
  difference.high = std::max(difference.high, difference.value + half_width);
  return difference;
}

Description description(const Results& results) {
  const ResultsGroup& group = results.group("correlation");
  const double trained = group.scalar("mean_abs_cosine_mean");
  Description description;
  if (std::isnan(trained)) return description;
  const std::string of_shared = sharing_text(results, residual_space);
  if (!group.has("mean_abs_cosine_difference")) {
    description.add("Likeness", trained_text(trained) + ".");
    description.add("Shared values", of_shared);
    return description;
  }
  const Variable& difference = group.variable("mean_abs_cosine_difference");
  const std::size_t n_layer = difference.values.shape[1];
  const auto of_space = [&](std::size_t space) {
    std::vector<Estimate> of_layer;
    for (std::size_t layer = 0; layer < n_layer; ++layer) {
      of_layer.push_back(beside_untrained(difference.estimate(space * n_layer + layer),
                                          group.values("mean_abs_cosine_control"),
                                          space * n_layer + layer));
    }
    return of_layer;
  };
  description.add("Likeness", likeness_line(trained, mean_untrained(group), of_space(head_space),
                                            of_space(residual_space)));
  description.add("Shared values", of_shared);
  return description;
}

/// `layers 0, 1`.
std::string layer_list(const std::vector<std::size_t>& layers) {
  return (layers.size() == 1 ? "layer " : "layers ") +
         joined(layers, ", ", [](std::size_t layer) { return std::to_string(layer); });
}

/// `more alike in layers 0, 1 and less alike in layers 3, 4`.
std::string change_text(const std::vector<Estimate>& of_layer) {
  const auto layers_where = [&](const auto& passes) {
    return numbers_where(of_layer.size(),
                         [&](std::size_t layer) { return passes(of_layer[layer]); });
  };
  const auto more = layers_where([](const Estimate& change) { return change.is_above(0); });
  const auto less = layers_where([](const Estimate& change) { return change.is_below(0); });
  std::vector<std::string> parts;
  if (!more.empty()) parts.push_back("more alike in " + layer_list(more));
  if (!less.empty()) parts.push_back("less alike in " + layer_list(less));
  return parts.empty() ? "not measurably different in any layer" : joined(parts, " and ");
}

}  // namespace

std::string likeness_line(double trained, double untrained, const std::vector<Estimate>& before,
                          const std::vector<Estimate>& after) {
  const std::string text = trained_text(trained) + "; in untrained models of this shape it is " +
                           number_text(untrained, 3) + ".";
  if (std::ranges::none_of(after, &Estimate::has_interval)) {
    return text + " Without intervals the run cannot tell whether training changed this.";
  }
  return text + " Compared with untrained models, before W_O the outputs are " +
         change_text(before) + "; after W_O they are " + change_text(after) + ".";
}

std::string sharing_text(const Results& results, std::size_t space) {
  const ResultsGroup& group = results.group("correlation");
  const Array cosines = group.values("cosine").part(space);
  const std::size_t n_layer = cosines.shape[0], n_head = cosines.shape[1];
  const std::size_t n_group = static_cast<std::size_t>(
      results.integer("n_kv_head").value_or(static_cast<std::int64_t>(n_head)));
  if (n_group == 0 || n_group >= n_head) return "";
  const std::size_t n_shared = n_head / n_group;
  std::vector<double> sharing, apart;
  for (std::size_t layer = 0; layer < n_layer; ++layer) {
    for (std::size_t a = 0; a < n_head; ++a) {
      for (std::size_t b = a + 1; b < n_head; ++b) {
        const double cosine = std::abs(cosines(layer, a, b));
        if (!std::isnan(cosine)) (a / n_shared == b / n_shared ? sharing : apart).push_back(cosine);
      }
    }
  }
  if (sharing.empty()) return "";
  return "Heads that share keys and values have a mean absolute cosine of " +
         number_text(mean_of_numbers(sharing), 2) + " in " + group.labels("space")[space] +
         " space" +
         (apart.empty() ? ""
                        : ", other heads of a layer " + number_text(mean_of_numbers(apart), 2)) +
         ".";
}

Presentation correlation_presentation() {
  return {.group = "correlation",
          .describe = description,
          .scores = {{"OV and QK circuits", {"output_share"}}},
          .nearest = {{.title = "Attend most alike (distance)",
                       .variable = "js_distance",
                       .smallest = true,
                       .alike = true},
                      {.title = "Write most alike or opposite (cosine)",
                       .variable = "cosine_all",
                       .alike = true}},
          .measures = {{"mean_abs_cosine", "mean_abs_cosine_mean", ""},
                       {"mean_abs_cosine_difference", "mean_abs_cosine_difference_mean", ""},
                       {"disagreement", "disagreement_mean", ""}},
          .variables = &correlation_variables};
}

}  // namespace headscope
