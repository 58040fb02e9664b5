#include "score_model/score_results.hpp"

#include <cmath>

#include "base/number_text.hpp"
#include "document_estimates.hpp"

namespace headscope {
namespace {

/// Deviances explained of all heads from sums by block.
class Deviances {
 public:
  Deviances(const ScoreData& data, const ScoreFits& fits)
      : fits_(fits), n_head_total_(fits.uniform.shape[1] * fits.uniform.shape[2]) {
    const BootstrapCounts observed(n_document_block, 1);
    const double n_query = weighted_sum(data.odd.n_query, observed);
    const Array uniform = fits.uniform.weighted_sum(observed),
                beyond = fits.uniform_beyond.weighted_sum(observed),
                weight = fits.weight.weighted_sum(observed);
    for (std::size_t head = 0; head < n_head_total_; ++head) {
      has_all_.push_back(uniform.values[head] >= least_uniform * n_query && n_query > 0);
      has_beyond_.push_back(n_query > 0 && weight.values[head] >= least_weight * n_query &&
                            beyond.values[head] >= least_uniform * weight.values[head]);
      beyond_uniform_.push_back(weight.values[head] > 0 ? beyond.values[head] / weight.values[head]
                                                        : arma::datum::nan);
    }
  }

  std::size_t n_head_total() const { return n_head_total_; }

  /// By head: KL(A'|uniform) per query, A' the attention beyond the sink.
  const std::vector<double>& beyond_uniform() const { return beyond_uniform_; }

  /// By head: of each step, beyond the sink of each step, gains of each family.
  std::vector<double> values(const BootstrapCounts& counts) const {
    const Array uniform = fits_.uniform.weighted_sum(counts),
                beyond = fits_.uniform_beyond.weighted_sum(counts);
    std::vector<double> values;
    const auto add = [&](const Array& sums, const Array& of_uniform, const std::vector<bool>& has,
                         double sign, double from) {
      const Array total = sums.weighted_sum(counts);
      for (std::size_t head = 0; head < n_head_total_; ++head) {
        values.push_back(has[head] ? from + sign * total.values[head] / of_uniform.values[head]
                                   : arma::datum::nan);
      }
    };
    for (std::size_t step = 0; step < n_score_step; ++step) {
      add(fits_.divergence[step], uniform, has_all_, -1, 1);
    }
    for (std::size_t step = 0; step < n_score_step; ++step) {
      const std::size_t first = values.size();
      add(fits_.divergence_beyond[step], beyond, has_beyond_, -1, 1);
      if (step != static_cast<std::size_t>(ScoreStep::sink)) continue;
      // Beyond the sink this model is uniform attention: 0 but for rounding.
      for (std::size_t i = first; i < values.size(); ++i) {
        if (!std::isnan(values[i])) values[i] = 0;
      }
    }
    const Array& full = fits_.divergence_beyond[static_cast<std::size_t>(ScoreStep::full)];
    for (std::size_t family = 0; family < fits_.families.size(); ++family) {
      Array lost = fits_.divergence_beyond[fits_.model_without(family)];
      for (std::size_t i = 0; i < lost.size(); ++i) lost.values[i] -= full.values[i];
      add(lost, beyond, has_beyond_, 1, 0);
    }
    return values;
  }

 private:
  const ScoreFits& fits_;
  std::size_t n_head_total_;
  std::vector<bool> has_all_, has_beyond_;
  std::vector<double> beyond_uniform_;
};

/// Feature, layer, head from layer, head, feature.
std::vector<double> feature_first(const Array& values, std::size_t n_feature) {
  std::vector<double> result(values.size());
  const std::size_t n_head_total = n_feature == 0 ? 0 : values.size() / n_feature;
  for (std::size_t f = 0; f < n_feature; ++f) {
    for (std::size_t h = 0; h < n_head_total; ++h) {
      result[f * n_head_total + h] = values.values[h * n_feature + f];
    }
  }
  return result;
}

/// @param beyond_uniform  by head, Deviances::beyond_uniform.
std::vector<double> families_attended_by(const std::vector<Estimate>& gains,
                                         const std::vector<FeatureFamily>& families,
                                         const std::vector<double>& beyond_uniform, Index d_model) {
  const std::size_t n_head_total = beyond_uniform.size();
  std::vector<double> attends_by(n_head_total, 0), most(n_head_total, least_family_gain);
  for (std::size_t family = 0; family < families.size(); ++family) {
    for (std::size_t head = 0; head < n_head_total; ++head) {
      const Estimate& gain = gains[family * n_head_total + head];
      if (!gain.is_above(least_family_gain) || gain.value <= most[head]) continue;
      if (families[family] == FeatureFamily::lexical &&
          beyond_uniform[head] < least_lexical_divergence(d_model)) {
        continue;
      }
      most[head] = gain.value;
      attends_by[head] = static_cast<double>(families[family]);
    }
  }
  return attends_by;
}

void add_dimensions(const ScoreData& data, const ScoreFits& fits, ResultsGroup& group) {
  std::vector<std::string> families;
  for (const FeatureFamily family : fits.families)
    families.emplace_back(feature_family_name(family));
  group.add_dimension(Dimension::count("layer", fits.uniform.shape[1]));
  group.add_dimension(Dimension::count("head", fits.uniform.shape[2]));
  group.add_dimension(
      Dimension::labels("step", {score_step_names.begin(), score_step_names.end()}));
  group.add_dimension(Dimension::labels("family", families));
  group.add_dimension(Dimension::labels("feature", data.features.names()));
}

}  // namespace

double least_lexical_divergence(Index d_model) {
  constexpr double initial_std = 0.02, margin = 2;
  const double score_std = initial_std * initial_std * static_cast<double>(d_model);
  return margin * score_std * score_std / 2;
}

bool attends_by_several_families(const ResultsGroup& group, std::size_t head_index) {
  const Array& attends_by = group.values("attends_by");
  if (attends_by.values[head_index] != 0) return false;
  const auto full = group.dimension("step").index_of("full");
  const Estimate explained = group.variable("deviance_explained_beyond_sink")
                                 .estimate(full * attends_by.size() + head_index);
  if (!explained.is_above(least_family_gain)) return false;
  const Variable& gain = group.variable("family_gain");
  for (std::size_t i = head_index; i < gain.values.size(); i += attends_by.size()) {
    if (!(gain.estimate(i).high < explained.low / 2)) return false;
  }
  return true;
}

bool has_gain_interval(const ResultsGroup& group, std::size_t head_index) {
  const Variable& gain = group.variable("family_gain");
  const std::size_t n_head_total = group.values("attends_by").size();
  for (std::size_t i = head_index; i < gain.values.size(); i += n_head_total) {
    if (gain.estimate(i).has_interval()) return true;
  }
  return false;
}

ResultsGroup score_results(const ScoreData& data, const ScoreFits& fits, Index d_model,
                           const AnalysisSettings& settings) {
  ResultsGroup group;
  group.name = "score_model";
  add_dimensions(data, fits, group);
  const VariableTable& variables = score_variables();
  const std::size_t n_feature = data.features.size();
  const std::size_t n_fitted = data.even.sample.queries.size();
  std::vector<std::string> family_of;
  for (std::size_t f = 0; f < n_feature; ++f) {
    family_of.emplace_back(feature_family_name(data.features.family(f)));
  }
  group.add(variables["feature_family"], std::move(family_of));
  const Array full = fits.theta.part(static_cast<std::size_t>(ScoreStep::full));
  group.add(variables["coefficient"].with("queries", grouped(n_fitted)),
            feature_first(full, n_feature));
  group.add(variables["coefficient_se"], feature_first(fits.se, n_feature));
  group.add(variables["coefficient_pull"], feature_first(fits.pull, n_feature));

  const Deviances deviances(data, fits);
  const std::vector<Estimate> estimates = estimates_of_documents(
      data.odd.n_document, [&](const BootstrapCounts& counts) { return deviances.values(counts); },
      settings.n_bootstrap, settings.seed);
  const std::size_t n_step_value = n_score_step * deviances.n_head_total();
  const auto part = [&](std::size_t first, std::size_t count) {
    return std::vector<Estimate>(estimates.begin() + static_cast<std::ptrdiff_t>(first),
                                 estimates.begin() + static_cast<std::ptrdiff_t>(first + count));
  };
  const std::vector<Estimate> gains = part(2 * n_step_value, estimates.size() - 2 * n_step_value);
  group.add(variables["deviance_explained"], part(0, n_step_value));
  group.add(variables["deviance_explained_beyond_sink"], part(n_step_value, n_step_value));
  group.add(variables["divergence_beyond_sink"], deviances.beyond_uniform());
  group.add(variables["family_gain"], gains);
  group.add(variables["attends_by"],
            families_attended_by(gains, fits.families, deviances.beyond_uniform(), d_model));
  group.add(variables["fitted_queries"], static_cast<double>(n_fitted));
  group.add(variables["judged_queries"], static_cast<double>(data.odd.sample.queries.size()));
  group.add(variables["largest_gradient"], fits.largest_gradient);
  return group;
}

}  // namespace headscope
