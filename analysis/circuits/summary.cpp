#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "circuits/circuits.hpp"
#include "circuits/composition.hpp"
#include "circuits/measures.hpp"
#include "headscope/literature.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// The n largest values of a layer x head array: `L1H2 (0.98), L0H0 (0.90)`.
std::string largest_heads(const std::vector<double>& values, std::size_t n_head, std::size_t n) {
  return joined(ranking(values) | std::views::take(n), ", ", [&](std::size_t head_index) {
    return head_text(head_index, n_head) + " (" + decimals(values[head_index], 2) + ")";
  });
}

std::string count_of(const ResultsGroup& group, const char* name) {
  return number_text(group.scalar(name), 0);
}

std::string copying_text(const ResultsGroup& group) {
  const Array& copying = group.values("ov_copying");
  const std::size_t n_head_with_circuit = finite_values(copying.values).size();
  if (n_head_with_circuit == 0) return "No head has a value circuit.";
  const std::string threshold = number_text(least_copying, 2);
  return "By weights alone, as if heads read raw embeddings, heads that copy (OV copying above " +
         threshold + "): " + count_of(group, "n_copying") + " of " +
         std::to_string(n_head_with_circuit) + ", heads that write the opposite (below -" +
         threshold + "): " + count_of(group, "n_opposite") +
         "; largest: " + largest_heads(copying.values, copying.shape[1], 5) + ".";
}

std::string rank_text(const ResultsGroup& group) {
  const double median = group.scalar("qk_rank90_median");
  if (std::isnan(median)) return "";
  const Array& rank = group.values("qk_rank90");
  const Array& joint = group.values("qk_rank90_joint");
  std::vector<double> of_layers, of_heads;  // by layer with a circuit: joint rank, sum over heads
  for (Index layer = 0; layer < rank.shape[0]; ++layer) {
    if (joint(layer) == 0) continue;
    of_layers.push_back(joint(layer));
    of_heads.push_back(arma::accu(arma::vec(rank.part(layer).values)));
  }
  return " The query-key product of a head needs " + decimals(median, 0) +
         (median == 1 ? " singular value" : " singular values") +
         " for 90 % of its sum of squares. The heads of a layer together need " +
         decimals(arma::median(arma::vec(of_layers)), 0) + "; added up head by head, " +
         decimals(arma::median(arma::vec(of_heads)), 0) + " (medians).";
}

/// The composition scores less what random matrices have.
class CompositionExcess {
 public:
  explicit CompositionExcess(const ResultsGroup& group)
      : excess_(group.values("composition")),
        null_(group.values("composition_null")),
        n_head_(group.values("ov_copying").shape[1]) {
    for (std::size_t i = 0; i < excess_.size(); ++i) excess_.values[i] -= null_(i / n_pair());
  }

  std::size_t n_head_total() const { return excess_.shape[1]; }
  std::size_t n_pair() const { return n_head_total() * n_head_total(); }
  const Array& scores() const { return excess_; }

  /// `k L0H1 to L1H0 (0.315, random 0.103)`
  std::string text(std::size_t index) const {
    const std::size_t kind = index / n_pair(), pair = index % n_pair();
    return std::string(composition_kinds[kind]) + " " + head_text(pair / n_head_total(), n_head_) +
           " to " + head_text(pair % n_head_total(), n_head_) + " (" +
           decimals(excess_.values[index] + null_(kind), 3) + ", random " +
           decimals(null_(kind), 3) + ")";
  }

 private:
  Array excess_;  // kind x unit_from x unit_to
  Array null_;    // kind
  std::size_t n_head_;
};

/// The pairs furthest above random matrices.
std::string composition_text(const ResultsGroup& group, const CompositionExcess& excess) {
  constexpr std::size_t n_named = 3;
  std::vector<std::size_t> order = ranking(excess.scores().values);
  if (order.empty()) {
    return finite_values(group.values("ov_copying").values).empty()
               ? " Composition has no value."
               : " There are no heads of two layers, or no random draws, to judge composition by.";
  }
  std::erase_if(order, [&](std::size_t index) { return excess.scores().values[index] <= 0; });
  if (order.empty()) return " No composition lies above random.";
  return " Composition furthest above random: " +
         joined(order | std::views::take(n_named), "; ",
                [&](std::size_t index) { return excess.text(index); }) +
         ".";
}

/// For each induction head the earlier head that its keys read most.
std::string induction_text(const CompositionExcess& excess,
                           const std::vector<std::size_t>& induction) {
  constexpr std::size_t n_named = 5, keys = 1;
  std::vector<double> best;
  std::vector<std::size_t> pairs;
  for (const std::size_t to : induction) {
    const std::vector<double> from = excess.scores().part(keys).at_last(to).values;
    const std::optional<std::size_t> most = largest(from);
    if (!most) continue;
    best.push_back(from[*most]);
    pairs.push_back(keys * excess.n_pair() + *most * excess.n_head_total() + to);
  }
  if (pairs.empty()) return "";
  return " Induction pairs: " +
         joined(ranking(best) | std::views::take(n_named), "; ",
                [&](std::size_t place) { return excess.text(pairs[place]); }) +
         ".";
}

std::string full_copying_text(const ResultsGroup& group) {
  if (!group.has("ov_copying_full")) return "";
  const Array& copying = group.values("ov_copying_full");
  const std::vector<double> opposite = copying.mapped(std::negate()).values;
  const std::vector<std::size_t> order = ranking(opposite);
  if (order.empty()) return "";
  const auto n_opposite =
      std::ranges::count_if(opposite, [](double value) { return value > least_copying; });
  return " From token to token, with embedding and unembedding, heads that write the opposite of "
         "the token that they read (below -" +
         number_text(least_copying, 2) + "): " + std::to_string(n_opposite) +
         "; lowest: " + head_text(order[0], copying.shape[1]) + " (" +
         decimals(-opposite[order[0]], 2) + ").";
}

std::string position_text(const ResultsGroup& group) {
  if (!group.has("position_only_share")) {
    return " Positions are rotary: no attention follows from positions alone, and composition "
           "through queries and keys is computed for tokens at distance 0.";
  }
  const Array& share = group.values("position_only_share");
  std::vector<double> previous = share.part(0).at_last(1).values;
  for (std::size_t head = 0; head < previous.size(); ++head) {
    const bool writes_nothing = std::isnan(group.values("ov_copying").values[head]);
    if (writes_nothing) previous[head] = std::nan("");
  }
  const std::size_t n_ranked = ranking(previous).size();
  if (n_ranked == 0) return "";
  return std::string(" From positions alone, the layer 0 ") +
         (n_ranked == 1 ? "head that looks most at the previous token is "
                        : "heads that look most at the previous token are ") +
         largest_heads(previous, share.shape[1], 3) + ".";
}

std::string copying_by_weights(const ResultsGroup& group) {
  const Array& copying = group.values("ov_copying");
  const std::optional<std::size_t> most = largest(copying.values);
  if (!most) return "";
  return "By weights alone, as if heads read raw embeddings, heads that copy the token that they "
         "attend to: " +
         count_of(group, "n_copying") +
         "; heads that write its opposite: " + count_of(group, "n_opposite") + ". " +
         head_text(*most, copying.shape[1]) +
         (copying.values[*most] > least_copying ? " copies most ("
                                                : " comes closest to copying (") +
         number_text(copying.values[*most], 2) + "; the threshold is " +
         number_text(least_copying, 2) +
         "). Deep heads do not read raw embeddings: the analysis classification measures copying "
         "on text.";
}

/// `copying (raises the logit of TOKEN by at least 0.1): 3 heads (most: L3H1, by 0.65)`: heads of a
/// type by their effect.
/// @param does  `raises the logit of TOKEN`.
std::string measured_text(const ResultsGroup& classification, const std::string& type,
                          const std::string& effect, double sign, const std::string& does) {
  const auto place = classification.dimension("head_type").place_of(type);
  if (!place) return "";
  const Array flags = classification.values("type").part(*place),
              threshold = classification.values("type_threshold").part(*place);
  const Array& effects = classification.values(effect);
  std::vector<double> of_type(effects.size(), std::nan(""));
  for (std::size_t head_index = 0; head_index < of_type.size(); ++head_index) {
    if (flags.values[head_index] == 1) of_type[head_index] = sign * effects.values[head_index];
  }
  const std::vector<std::size_t> order = ranking(of_type);
  const std::string text =
      type + " (" + does + " by at least " + number_text(threshold.values.front(), 2) + "): ";
  if (std::isnan(classification.values("type_share")(*place))) return text + "not tested";
  if (order.empty()) return text + "none";
  return text + count_text(order.size(), "head") +
         " (most: " + head_text(order[0], effects.shape[1]) + ", by " +
         number_text(of_type[order[0]], 2) + ")";
}

/// What copying heads do on text, if the analysis `classification` measured that.
std::string copying_on_text(const Results& results) {
  if (!results.has("classification")) return "";
  const ResultsGroup& classification = results.group("classification");
  if (!classification.has("copy_effect")) return "";
  return "Heads by what they are shown to do on the text: " +
         measured_text(classification, "copying", "copy_effect", 1,
                       "raises the logit of the attended token") +
         "; " +
         measured_text(classification, "suppressing", "suppression_effect", -1,
                       "lowers the logit of attended tokens that were already predicted") +
         ".";
}

/// Published roles of the model's heads beside what the run measured.
void add_literature(const Results& results, Description& description) {
  const std::optional<Literature> literature = published_roles(results);
  if (!literature) return;
  std::size_t n_measured = 0, n_agree = 0;
  std::vector<std::string> items;
  for (const PublishedRole& role : literature->roles) {
    const std::optional<bool> agrees = role.agrees(literature->n_head_total);
    n_measured += agrees ? 1 : 0;
    n_agree += agrees.value_or(false) ? 1 : 0;
    items.push_back(role_text(role, literature->n_head_total));
  }
  description.add("Published roles",
                  "The model is " + literature->model + " by " + literature->recognised_by +
                      ". Of " + count_text(literature->roles.size(), "published role") +
                      " this run measures " + std::to_string(n_measured) + ", and " +
                      std::to_string(n_agree) +
                      " agree: the head is among the tenth of heads that go furthest.",
                  std::move(items));
}

Description description(const Results& results) {
  const ResultsGroup& group = results.group("circuits");
  const std::string by_weights = copying_by_weights(group),
                    on_text = by_weights.empty() ? "" : copying_on_text(results);
  Description description;
  if (on_text.empty()) description.add("Weights", by_weights);
  description.add("Copying", on_text);
  add_literature(results, description);
  return description;
}

}  // namespace

std::string circuit_summary(const ResultsGroup& group, const std::vector<std::size_t>& induction) {
  const CompositionExcess excess(group);
  return copying_text(group) + full_copying_text(group) + rank_text(group) +
         composition_text(group, excess) + induction_text(excess, induction) + position_text(group);
}

Presentation circuits_presentation() {
  const NearestHeads from{.title = "-composition, from",
                          .variable = "composition",
                          .most = 3,
                          .by_column = true,
                          .chance = "composition_null"};
  NearestHeads to = from;
  to.title = "-composition, to";
  to.by_column = false;
  return {.group = "circuits",
          .describe = description,
          .scores = {{"OV and QK circuits",
                      {"ov_copying", "ov_copying_full", "qk_rank90", "position_only_sink"}}},
          .nearest = {from, to},
          .measures = {{"qk_rank90_median", "qk_rank90_median", ""}}};
}

}  // namespace headscope
