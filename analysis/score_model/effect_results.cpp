#include <limits>

#include "document_estimates.hpp"
#include "report_text.hpp"
#include "score_model/joint.hpp"
#include "score_model/score_results.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

/// Losses of every head by block.
class EffectSums {
 public:
  EffectSums(const Statistics& statistics, std::size_t n_layer) {
    clean_ = statistics.total(score_clean_name).values;
    n_token_ = statistics.total(score_effect_tokens).values;
    for (std::size_t layer = 0; layer < n_layer; ++layer) {
      losses_.push_back(statistics.total(score_loss_name(layer)));
    }
    n_head_ = losses_.front().shape[1];
  }

  std::size_t n_head_total() const { return losses_.size() * n_head_; }
  /// Of the unchanged model, nats per predicted token.
  double clean_loss() const {
    return arma::accu(arma::vec(clean_)) / arma::accu(arma::vec(n_token_));
  }

  /// Of each head: the increase by its mean; the share kept by each step; by the control; full less
  /// control.
  static constexpr std::size_t n_value = n_score_step + 3;
  std::vector<double> values(const BootstrapCounts& counts) const {
    const double clean = weighted_sum(clean_, counts), n_token = weighted_sum(n_token_, counts);
    std::vector<double> values;
    for (const Array& of_layer : losses_) {
      const Array total = of_layer.weighted_sum(counts);
      for (std::size_t head = 0; head < n_head_; ++head) {
        const double increase = total(head, score_mean) - clean;
        const auto kept = [&](std::size_t kind) {
          const double loss = total(head, kind);
          return loss == 0 ? arma::datum::nan : 1 - (loss - clean) / increase;
        };
        values.push_back(increase / n_token);
        for (std::size_t step = 0; step < n_score_step; ++step) values.push_back(kept(step));
        const double control = kept(score_control);
        values.push_back(control);
        values.push_back(kept(static_cast<std::size_t>(ScoreStep::full)) - control);
      }
    }
    return values;
  }

 private:
  std::vector<double> clean_, n_token_;
  std::vector<Array> losses_;
  std::size_t n_head_ = 0;
};

}  // namespace

void add_effects(const Statistics& statistics, const AnalysisSettings& settings,
                 ResultsGroup& group) {
  if (!statistics.has(score_clean_name)) return;
  const EffectSums sums(statistics, group.dimension("layer").size());
  const std::vector<double> documents = statistics.total(score_effect_documents).values;
  const std::size_t n_head_total = sums.n_head_total();
  const auto estimates = [&](const BlockStatistic& statistic) {
    return estimates_of_documents(documents, statistic, settings.n_bootstrap, settings.seed);
  };
  const std::vector<Estimate> all =
      estimates([&](const BootstrapCounts& counts) { return sums.values(counts); });
  std::vector<Estimate> increase(n_head_total), control(n_head_total), above(n_head_total);
  std::vector<Estimate> explained(n_score_step * n_head_total);
  std::vector<bool> has_effect(n_head_total);
  const double clean_loss = sums.clean_loss();
  for (std::size_t head = 0; head < n_head_total; ++head) {
    const Estimate* const of_head = &all[head * EffectSums::n_value];
    increase[head] = of_head[0];
    has_effect[head] = is_measurable(of_head[0], clean_loss);
    if (!has_effect[head]) continue;
    for (std::size_t step = 0; step < n_score_step; ++step) {
      explained[step * n_head_total + head] = of_head[1 + step];
    }
    control[head] = of_head[1 + n_score_step];
    above[head] = of_head[2 + n_score_step];
  }
  const auto median = [&](const BootstrapCounts& counts) {
    const std::vector<double> values = sums.values(counts);
    std::vector<double> differences;
    for (std::size_t head = 0; head < n_head_total; ++head) {
      if (has_effect[head]) differences.push_back(values[(head + 1) * EffectSums::n_value - 1]);
    }
    return std::vector<double>{median_of_numbers(std::move(differences))};
  };
  const VariableTable& variables = score_variables();
  group.add(variables["effect_explained"], explained);
  group.add(variables["effect_explained_control"], control);
  group.add(variables["effect_above_control"], above);
  group.add(variables["effect_above_control_median"], estimates(median));
  group.add(variables["mean_replacement_increase"], increase);
  group.add(variables["effect_documents"],
            weighted_sum(documents, BootstrapCounts(documents.size(), 1)));
}

void add_joint_losses(const Statistics& statistics, const AnalysisSettings& settings,
                      ResultsGroup& group) {
  if (!statistics.has(joint_loss_name)) return;
  const Array losses = statistics.total(joint_loss_name);
  const std::vector<double> n_token = statistics.total(joint_tokens_name).values,
                            documents = statistics.total(joint_documents_name).values;
  const auto loss_per_token = [&](const BootstrapCounts& counts) {
    std::vector<double> values = losses.weighted_sum(counts).values;
    const double count = weighted_sum(n_token, counts);
    for (double& value : values) value /= count;
    return values;
  };
  group.add_dimension(Dimension::labels("replacement", {"score_model", "mean"}));
  group.add_dimension(Dimension::numbers("share", {joint_shares.begin(), joint_shares.end()}));
  const VariableTable& variables = score_variables();
  std::vector<Estimate> joint =
      estimates_of_documents(documents, loss_per_token, settings.n_bootstrap, settings.seed);
  for (Estimate& loss : joint) {
    loss = within(std::move(loss), 0, std::numeric_limits<double>::infinity());
  }
  group.add(variables["joint_loss"], joint);
  group.add(variables["joint_documents"],
            weighted_sum(documents, BootstrapCounts(documents.size(), 1)));
}

}  // namespace headscope
