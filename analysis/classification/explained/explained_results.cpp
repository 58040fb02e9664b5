#include <cmath>

#include "base/number_text.hpp"
#include "classification/explained/explained.hpp"
#include "classification/variables.hpp"
#include "headscope/estimate.hpp"
#include "report_text.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

/// A label whose head was run, with what its sums say.
struct MeasuredLabel {
  std::size_t place = 0;  // type * n_head_total + head_index
  std::size_t head_index = 0;
  std::string place_text, control_text;
  Array sums;                            // block x loss
  double n_query = 0;                    // queries for which the label names a place
  double mass = arma::datum::nan;        // the head's attention to the label's place
  double overlap = arma::datum::nan;     // share of queries for which the control is the same place
  double clean_loss = arma::datum::nan;  // nats per token
  Estimate increase = {}, share = {}, control_share = {}, gain = {}, said_share = {};
  std::string text = {};  // explained_text

  bool is_measured() const { return n_query > 0 && is_measurable(increase, clean_loss); }

  LabelVerdict verdict() const {
    if (!is_measured()) return not_measured;
    return share.low > 0 && gain.low > 0 ? explained : unexplained;
  }
};

/// `92 % of its effect stays`, of the share of it that a replacement keeps.
std::string stays(const Estimate& share) {
  return share.value > 0 ? percent(share.value) + " of its effect stays"
                         : "none of its effect stays (" + percent(share.value) + ")";
}

std::string explained_text(const MeasuredLabel& label, double n_document) {
  if (label.n_query == 0) return "not measured: the sampled documents have no such place";
  if (!label.increase.has_interval())
    return "not measured: " + no_interval_text(n_document, "documents");
  if (!label.is_measured()) {
    return label.increase.low > rounding_of(label.clean_loss)
               ? "not measured: replacing the head's output by its mean costs the same on all "
                 "documents"
               : "not measured: replacing the head's output by its mean has no measurable cost";
  }
  return std::string(label.verdict() == unexplained ? "unexplained: " : "") +
         "with attention on exactly " + label.place_text + ", " + stays(label.share) +
         ", interval " + percent(label.share.low) + " to " + percent(label.share.high) + "; on " +
         label.control_text + ", the place of another type, " + percent(label.control_share.value) +
         (label.overlap > 0
              ? ". At " + percent(label.overlap) +
                    " of the queries for which the label names a place both places are the same"
              : "") +
         ". If only the queries for which the label names a place are replaced, " +
         stays(label.said_share) + " (no control). On this text the head puts " +
         percent(label.mass) + " of its attention there";
}

std::vector<MeasuredLabel> measured_labels(const HeadTypeList& types, const Statistics& statistics,
                                           const ResultsGroup& group) {
  const Shape& shape = group.values("type").shape;
  const std::size_t n_head_total = shape[1] * shape[2];
  std::vector<MeasuredLabel> labels;
  for (std::size_t place = 0; place < types.size() * n_head_total; ++place) {
    const HeadType& type = types[place / n_head_total];
    const std::size_t head_index = place % n_head_total;
    const std::string name = explained_loss_name(type.name, head_index);
    if (group.values("type").values[place] != 1 || !type.place || !statistics.has(name)) continue;
    const Array of_place = statistics.total(place_sums_name(type.name, head_index));
    const double n_query = of_place(place_query);
    labels.push_back({place, head_index, type.place(group, head_index).text,
                      control_place(types, type, group, head_index).text, statistics.total(name),
                      n_query, Ratio{of_place(place_mass), n_query}.value(),
                      Ratio{of_place(place_same), n_query}.value()});
  }
  return labels;
}

void estimate_labels(const Statistics& statistics, const AnalysisSettings& settings,
                     std::vector<MeasuredLabel>& labels) {
  const Array n_token = statistics.total(explained_token_count);
  const Bootstrap bootstrap = settings.bootstrap(statistics.total(explained_document_count).values);
  constexpr std::size_t n_value = 5;
  const std::vector<Estimate> estimates = bootstrap.estimates([&](const BootstrapCounts& times) {
    std::vector<double> values;
    for (const MeasuredLabel& label : labels) {
      const Array loss = label.sums.weighted_sum(times);
      const double increase = loss(explained_mean) - loss(explained_clean);
      const auto stays = [&](ExplainedLoss replaced) {
        return 1 - (loss(replaced) - loss(explained_clean)) / increase;
      };
      const double share = stays(explained_label), control = stays(explained_control);
      values.insert(values.end(), {increase / weighted_sum(n_token.values, times), share, control,
                                   share - control, stays(explained_where_said)});
    }
    return values;
  });
  const double n = arma::accu(arma::vec(n_token.values));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i].clean_loss = labels[i].sums.weighted_sum(bootstrap.observed())(explained_clean) / n;
    labels[i].increase = estimates[i * n_value];
    if (!labels[i].is_measured()) continue;
    labels[i].share = estimates[i * n_value + 1];
    labels[i].control_share = estimates[i * n_value + 2];
    labels[i].gain = estimates[i * n_value + 3];
    labels[i].said_share = estimates[i * n_value + 4];
  }
}

}  // namespace

void add_explained(const HeadTypeList& types, const Statistics& statistics,
                   const AnalysisSettings& settings, ResultsGroup& group) {
  if (!statistics.has(explained_document_count)) return;
  std::vector<MeasuredLabel> labels = measured_labels(types, statistics, group);
  if (!labels.empty()) estimate_labels(statistics, settings, labels);

  double n_document = 0;
  for (const double n : statistics.total(explained_document_count).values) n_document += n;
  const Shape shape = group.values("type").shape;
  std::vector<MeasuredLabel> by_place(shape[0] * shape[1] * shape[2]);
  std::vector<Estimate> increase(shape[1] * shape[2]);
  for (MeasuredLabel& label : labels) {
    label.text = explained_text(label, n_document);
    increase[label.head_index] = label.increase;
    by_place[label.place] = std::move(label);
  }
  const VariableTable& variables = classification_variables();
  group.add(variables["explained"], by_place, &MeasuredLabel::share);
  group.add(variables["explained_control"], by_place, &MeasuredLabel::control_share);
  group.add(variables["explained_gain"], by_place, &MeasuredLabel::gain);
  group.add(variables["explained_where_said"], by_place, &MeasuredLabel::said_share);
  group.add(variables["explained_place_mass"], by_place, &MeasuredLabel::mass);
  group.add(variables["explained_control_overlap"], by_place, &MeasuredLabel::overlap);
  group.add(variables["mean_ablation_increase"], increase);
  group.add(variables["explained_verdict"], by_place,
            [](const MeasuredLabel& label) { return static_cast<int>(label.verdict()); });
  group.add(variables["explained_text"], by_place, &MeasuredLabel::text);
  group.add(variables["explained_documents"], n_document);
}

bool is_mostly_control(const ResultsGroup& group, std::size_t label) {
  const Variable* const overlap = group.find("explained_control_overlap");
  return overlap != nullptr && overlap->values.values[label] > 0.5;
}

std::string explained_line(const ResultsGroup& group) {
  if (!group.has("explained_verdict")) return "";
  const Array& verdicts = group.values("explained_verdict");
  const Variable& share = group.variable("explained");
  std::size_t n_measured = 0, n_half = 0, n_unexplained = 0, n_same = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const auto verdict = static_cast<LabelVerdict>(verdicts.values[i]);
    if (verdict == not_measured) continue;
    ++n_measured;
    n_unexplained += verdict == unexplained ? 1 : 0;
    n_same += verdict == unexplained && is_mostly_control(group, i) ? 1 : 0;
    n_half += verdict == explained && share.estimate(i).value >= 0.5 ? 1 : 0;
  }
  if (n_measured == 0) {
    const Variable& increase = group.variable("mean_ablation_increase");
    const auto lacks_interval = [&](std::size_t i) {
      return !std::isnan(increase.values.values[i]) && !increase.estimate(i).has_interval();
    };
    return numbers_where(increase.values.size(), lacks_interval).empty()
               ? "The run cannot tell whether labels explain effects: no head whose label names a "
                 "place in the sampled documents has a measurable effect on the loss."
               : "Without intervals the run cannot tell whether labels explain effects: " +
                     no_interval_text(group.scalar("explained_documents"), "documents") + ".";
  }
  return count_text(n_measured, "label") + (n_measured == 1 ? " names" : " name") +
         " a place and " + (n_measured == 1 ? "belongs" : "belong") +
         " to a head with a measurable effect on the loss. Labels that explain at least half of "
         "the effect: " +
         std::to_string(n_half) +
         "; with its attention replaced by the label's place, the head keeps at least half. "
         "Unexplained labels, not shown to keep anything or to keep more than another type's "
         "place: " +
         std::to_string(n_unexplained) + "." +
         (n_same == 0 ? ""
                      : " For " + std::to_string(n_same) +
                            " of the unexplained labels the other type's place is the label's "
                            "place at more than half of the queries for which the label names one, "
                            "so that only the other queries can tell the two places apart.");
}

}  // namespace headscope
