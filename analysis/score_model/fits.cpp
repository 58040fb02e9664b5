#include "score_model/fits.hpp"

#include <algorithm>
#include <cmath>

#include "base/fields.hpp"
#include "base/thread_errors.hpp"

namespace headscope {
namespace {

std::size_t lane_place(std::size_t feature, std::size_t lane) {
  return feature * n_logit_lane + lane;
}

/// Fits and judges the models of up to eight heads of one layer.
class LaneFits {
 public:
  LaneFits(const ScoreData& data, const std::vector<std::string>& labels, Index layer, Index first,
           Index n_head, ScoreFits& fits)
      : data_(data),
        labels_(labels),
        layer_(layer),
        first_(first),
        n_head_(n_head),
        n_lane_(std::min<Index>(n_logit_lane, n_head - first)),
        fits_(fits) {}

  void run(const std::vector<float>& even_lexical, const std::vector<float>& odd_lexical) {
    even_ = problem_of(data_.even, even_lexical);
    odd_ = problem_of(data_.odd, odd_lexical);
    const FeatureList& features = data_.features;
    const auto is_of = [&](std::size_t feature, FeatureFamily family) {
      return features.family(feature) == family;
    };
    using enum FeatureFamily;
    const auto fit_step = [&](ScoreStep step, const LogitFit* start, const Takes& takes) {
      const LaneMask mask = mask_of(takes);
      LogitFit fitted = fit(mask, start);
      keep_step(step, fitted, mask);
      return fitted;
    };
    const LogitFit full =
        fit_step(ScoreStep::full, nullptr, [](std::size_t, Index) { return true; });
    keep_errors(full.theta);
    keep_pulls(full.theta);
    fit_step(ScoreStep::sink, nullptr, [&](std::size_t f, Index) { return is_of(f, sink); });
    if (!labels_.empty()) {
      std::vector<std::vector<std::string>> of_label;  // by lane
      for (Index l = 0; l < n_lane_; ++l) of_label.push_back(label_of(first_ + l));
      fit_step(ScoreStep::label, nullptr, [&](std::size_t f, Index head) {
        return std::ranges::count(of_label[head - first_], features.names()[f]) > 0;
      });
    }
    fit_step(ScoreStep::position, nullptr,
             [&](std::size_t f, Index) { return is_of(f, sink) || is_of(f, position); });
    fit_step(ScoreStep::lexical, nullptr, [&](std::size_t f, Index) {
      return is_of(f, sink) || is_of(f, position) || is_of(f, lexical);
    });
    for (std::size_t i = 0; i < fits_.families.size(); ++i) {
      const auto takes = [&](std::size_t f, Index) { return !is_of(f, fits_.families[i]); };
      const LaneMask mask = mask_of(takes);
      const LogitFit without = fit(mask, &full);
      judge(fits_.model_without(i), without.theta, mask);
      if (fits_.families[i] == lexical) keep_step(ScoreStep::features, without, mask);
    }
  }

 private:
  using Takes = std::function<bool(std::size_t feature, Index head)>;

  LogitProblem problem_of(const ScoreHalf& half, const std::vector<float>& lexical) const {
    return {&half.sample, &data_.features, lexical.data(), mean_attended(half)};
  }

  LaneMask mask_of(const Takes& takes) const {
    LaneMask mask(data_.features.size() * n_logit_lane, 0);
    for (std::size_t f = 0; f < data_.features.size(); ++f) {
      for (Index l = 0; l < n_lane_; ++l) mask[lane_place(f, l)] = takes(f, first_ + l) ? 1 : 0;
    }
    return mask;
  }

  LogitFit fit(const LaneMask& mask, const LogitFit* start) {
    LogitFit fit = fit_logit(even_, mask, start);
    for (const double largest : fit.largest_gradient) {
      fits_.largest_gradient = std::max(fits_.largest_gradient, largest);
    }
    return fit;
  }

  void keep_step(ScoreStep step, const LogitFit& fit, const LaneMask& mask) {
    for (std::size_t f = 0; f < data_.features.size(); ++f) {
      for (Index l = 0; l < n_lane_; ++l) {
        fits_.theta(static_cast<std::size_t>(step), layer_, first_ + l, f) =
            mask[lane_place(0, l)] != 0 ? fit.theta[lane_place(f, l)] : arma::datum::nan;
      }
    }
    judge(static_cast<std::size_t>(step), fit.theta, mask);
  }

  void judge(std::size_t model, const LaneValues& theta, const LaneMask& mask) {
    const ScoreHalf& odd = data_.odd;
    const LogPartitions partitions = log_partitions(odd_, theta);
    const std::size_t n_head_total =
        odd.sample.queries.empty() ? 0 : odd.sink.size() / odd.sample.queries.size();
    for (Index l = 0; l < n_lane_; ++l) {
      const Index head = first_ + l;
      const bool is_model = mask[lane_place(0, l)] != 0;
      for (std::size_t block = 0; block < n_document_block; ++block) {
        double& all = fits_.divergence[model](block, layer_, head);
        double& beyond = fits_.divergence_beyond[model](block, layer_, head);
        all = beyond = is_model ? 0 : arma::datum::nan;
        if (!is_model || odd.attended[block].size() == 0) continue;
        all = odd.entropy[block](layer_, head, 0);
        beyond = odd.entropy[block](layer_, head, 1);
        for (std::size_t f = 0; f < data_.features.size(); ++f) {
          const double score = theta[lane_place(f, l)] * odd.attended[block](layer_, head, f);
          all -= score;
          if (f > 0) beyond -= score;
        }
      }
      if (!is_model) continue;
      for (std::size_t i = 0; i < odd.sample.queries.size(); ++i) {
        const std::size_t block = odd.sample.queries[i].block;
        const double weight = 1 - odd.sink[i * n_head_total + layer_ * n_head_ + head];
        fits_.divergence[model](block, layer_, head) += partitions.all[i * n_logit_lane + l];
        fits_.divergence_beyond[model](block, layer_, head) +=
            weight * partitions.beyond_sink[i * n_logit_lane + l];
      }
    }
  }

  // Sandwich: inverse Hessian, covariance of the blocks' gradients, inverse Hessian.
  void keep_errors(const LaneValues& theta) {
    const std::size_t n_feature = data_.features.size();
    const ScoreHalf& even = data_.even;
    const std::vector<LaneValues> expected = expected_features(even_, theta, n_document_block);
    std::vector<arma::mat> curvature = curvature_at(even_, theta);
    const auto n_query = static_cast<double>(even.sample.queries.size());
    for_each_in_parallel(n_lane_, [&](std::size_t l) {
      arma::mat spread(n_feature, n_feature, arma::fill::zeros);
      double n_unit = 0;
      for (std::size_t block = 0; block < n_document_block; ++block) {
        if (even.attended[block].size() == 0) continue;
        ++n_unit;
        arma::vec gradient(n_feature);
        for (std::size_t f = 0; f < n_feature; ++f) {
          gradient(f) = expected[block][lane_place(f, l)] -
                        even.attended[block](layer_, first_ + l, f) +
                        even.n_query[block] * 2 * logit_penalty * theta[lane_place(f, l)];
        }
        spread += gradient * gradient.t();
      }
      curvature[l].diag() += 2 * logit_penalty;
      const arma::mat inverse = arma::inv_sympd(curvature[l]);
      const arma::mat covariance =
          inverse * spread * inverse * (n_unit / (n_unit - 1) / (n_query * n_query));
      for (std::size_t f = 0; f < n_feature; ++f) {
        fits_.se(layer_, first_ + l, f) =
            n_unit > 1 ? std::sqrt(std::max(0.0, covariance(f, f))) : arma::datum::nan;
      }
    });
  }

  void keep_pulls(const LaneValues& theta) {
    const std::vector<LaneValues> uniform =
        expected_features(even_, LaneValues(theta.size(), 0), n_document_block);
    const auto n_query = static_cast<double>(data_.even.sample.queries.size());
    for (std::size_t f = 0; f < data_.features.size(); ++f) {
      for (Index l = 0; l < n_lane_; ++l) {
        const std::size_t place = lane_place(f, l);
        double mean = 0;
        for (const LaneValues& of_block : uniform) mean += of_block[place] / n_query;
        fits_.pull(layer_, first_ + l, f) = theta[place] * (even_.attended[place] - mean);
      }
    }
  }

  /// The features of the head's label: those that its types name, and distance. Empty without a
  /// type, and where the model has no feature of one of them, such as a relation with too few arcs:
  /// it cannot say what that label says.
  std::vector<std::string> label_of(Index head) const {
    std::vector<std::string> named{"log_distance", "distance"};
    for (const std::string_view type : fields::split(labels_[layer_ * n_head_ + head], ';')) {
      const std::vector<std::string> features = fields::split_words(std::string(type));
      const bool is_known = std::ranges::any_of(features, [&](const std::string& feature) {
        return std::ranges::count(data_.features.names(), feature) > 0;
      });
      if (!is_known) return {};
      named.insert(named.end(), features.begin(), features.end());
    }
    return named;
  }

  LaneValues mean_attended(const ScoreHalf& half) const {
    LaneValues mean(data_.features.size() * n_logit_lane, 0);
    const auto n_query = static_cast<double>(half.sample.queries.size());
    for (const Array& of_block : half.attended) {
      if (of_block.size() == 0) continue;
      for (std::size_t f = 0; f < data_.features.size(); ++f) {
        for (Index l = 0; l < n_lane_; ++l) {
          mean[lane_place(f, l)] += of_block(layer_, first_ + l, f) / n_query;
        }
      }
    }
    return mean;
  }

  const ScoreData& data_;
  const std::vector<std::string>& labels_;
  Index layer_, first_, n_head_, n_lane_;
  ScoreFits& fits_;
  LogitProblem even_, odd_;
};

void add_uniform(const ScoreHalf& odd, ScoreFits& fits) {
  const std::size_t n_layer = fits.uniform.shape[1], n_head = fits.uniform.shape[2];
  for (std::size_t block = 0; block < n_document_block; ++block) {
    if (odd.entropy[block].size() == 0) continue;
    for (std::size_t layer = 0; layer < n_layer; ++layer) {
      for (std::size_t head = 0; head < n_head; ++head) {
        fits.uniform(block, layer, head) += odd.entropy[block](layer, head, std::size_t{0});
        fits.uniform_beyond(block, layer, head) += odd.entropy[block](layer, head, std::size_t{1});
      }
    }
  }
  for (std::size_t i = 0; i < odd.sample.queries.size(); ++i) {
    const FitSample::Query& query = odd.sample.queries[i];
    for (std::size_t h = 0; h < n_layer * n_head; ++h) {
      const double weight = 1 - odd.sink[i * n_layer * n_head + h];
      fits.uniform(query.block, h / n_head, h % n_head) +=
          std::log(static_cast<double>(query.query + 1));
      fits.uniform_beyond(query.block, h / n_head, h % n_head) +=
          weight * std::log(static_cast<double>(query.query));
      fits.weight(query.block, h / n_head, h % n_head) += weight;
    }
  }
}

}  // namespace

ScoreFits fit_scores(const Model& model, std::optional<TokenId> first, const ScoreData& data,
                     const std::vector<std::string>& labels, const ComputeContext& context) {
  const ModelConfig& config = model.config;
  const Shape by_head{n_document_block, config.n_layer, config.n_head};
  const std::size_t n_feature = data.features.size();
  ScoreFits fits;
  for (std::size_t i = 1; i < n_feature_family; ++i) {
    const auto family = static_cast<FeatureFamily>(i);
    if (data.features.has(family)) fits.families.push_back(family);
  }
  fits.theta = Array({n_score_step, config.n_layer, config.n_head, n_feature}, arma::datum::nan);
  fits.se = fits.pull = Array({config.n_layer, config.n_head, n_feature}, arma::datum::nan);
  fits.divergence.assign(n_score_step + fits.families.size(), Array(by_head, arma::datum::nan));
  fits.divergence_beyond = fits.divergence;
  fits.uniform = fits.uniform_beyond = fits.weight = Array(by_head);
  if (data.even.sample.queries.empty()) return fits;
  add_uniform(data.odd, fits);

  TokenNumbers numbers;
  for (const TokenIds& tokens : data.even.sample.tokens) numbers.add(tokens);
  for (const TokenIds& tokens : data.odd.sample.tokens) numbers.add(tokens);
  numbers.complete();
  LexicalStream stream(model, first, numbers.tokens(), context);
  std::vector<float> even_lexical, odd_lexical;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const LexicalLayer of_layer = stream.next();
    for (Index head = 0; head < config.n_head; head += n_logit_lane) {
      lexical_scores(config, layer, of_layer, numbers, data.even.sample, head, even_lexical);
      lexical_scores(config, layer, of_layer, numbers, data.odd.sample, head, odd_lexical);
      LaneFits(data, labels, layer, head, config.n_head, fits).run(even_lexical, odd_lexical);
    }
  }
  return fits;
}

std::uint64_t score_fit_bytes(const ModelConfig& config, Index n_token, std::uint64_t n_query,
                              std::size_t n_feature) {
  const std::uint64_t n_pair = 2 * n_query * (n_token / 2 + 1),
                      lexical = n_logit_lane * sizeof(float);
  const Index n_type = std::min<Index>(config.d_vocab, 2 * n_query * n_token);
  return n_pair * (FitSample::pair_bytes + lexical) + logit_fit_bytes(n_feature) +
         LexicalStream::bytes(config, n_type);
}

}  // namespace headscope
