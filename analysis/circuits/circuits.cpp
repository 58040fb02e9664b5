#include "circuits/circuits.hpp"

#include <algorithm>

#include "circuits/claims.hpp"
#include "circuits/composition.hpp"
#include "circuits/measures.hpp"
#include "circuits/position.hpp"
#include "circuits/weights.hpp"
#include "headscope/figure.hpp"
#include "headscope/forward.hpp"
#include "headscope/number_text.hpp"
#include "induction.hpp"
#include "parallel.hpp"

namespace headscope {
namespace {

/// First random stream of the subspace null; the composition null uses the streams below it.
constexpr std::uint64_t subspace_stream = std::uint64_t{1} << 32;

const AnalysisInfo circuits_info{
    .name = "circuits",
    .title = "Circuits in the weights",
    .purpose =
        "Reads copying, subspaces, ranks, composition and positional attention off the "
        "weights of each head.",
    .source = "Elhage et al. 2021; Cordonnier et al. 2020",
};

/// All results of the analysis, filled layer by layer.
struct Circuits {
  Array ov_copying, ov_copying_full, overlap, angle_min, rank, rank_joint, share, sink, composition;

  Circuits(std::size_t n_layer, std::size_t n_head)
      : ov_copying({n_layer, n_head}),
        ov_copying_full({n_layer, n_head}),
        overlap({all_projections.size(), n_layer, n_head, n_head}),
        angle_min({all_projections.size(), n_layer, n_head, n_head}),
        rank({n_layer, n_head}),
        rank_joint({n_layer}),
        share({n_layer, n_head, n_position_offset}),
        sink({n_layer, n_head}),
        composition({composition_kinds.size(), n_layer * n_head, n_layer * n_head},
                    arma::datum::nan) {}
};

void measure_layer(const Model& model, std::size_t layer, const CircuitWeights& weights,
                   Circuits& circuits) {
  const std::size_t n_head = weights.n_head;
  for (const Projection projection : all_projections) {
    const SubspaceAngles angles =
        subspace_angles(head_subspaces(weights.of(projection), weights.n_head));
    for (std::size_t i = 0; i < n_head; ++i) {
      for (std::size_t j = 0; j < n_head; ++j) {
        circuits.overlap(projection, layer, i, j) = angles.overlap(i, j);
        circuits.angle_min(projection, layer, i, j) = angles.angle_min(i, j);
      }
    }
  }
  const PositionOnlyAttention position = position_only_attention(model, layer);
  for (std::size_t h = 0; h < n_head; ++h) {
    circuits.ov_copying(layer, h) =
        ov_copying(weights.of(Projection::v, h), weights.of(Projection::o, h));
    circuits.rank(layer, h) =
        static_cast<double>(qk_rank90(weights.of(Projection::q, h), weights.of(Projection::k, h)));
    for (std::size_t offset = 0; offset < n_position_offset; ++offset) {
      circuits.share(layer, h, offset) = position.share(h, offset);
    }
    circuits.sink(layer, h) = position.sink(h);
  }
  circuits.rank_joint(layer) = static_cast<double>(qk_rank90_joint(weights.W_Q, weights.W_K));
}

void measure_composition(const std::vector<CompositionFactors>& factors, std::size_t n_head,
                         Array& scores) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t later = 1; later < factors.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) pairs.emplace_back(earlier, later);
  }
  parallel_for(composition_kinds.size() * pairs.size(), [&](std::size_t index) {
    const std::size_t kind = index / pairs.size();
    const auto [earlier, later] = pairs[index % pairs.size()];
    const arma::mat block = composition(factors[earlier], factors[later], kind);
    for (std::size_t i = 0; i < n_head; ++i) {
      for (std::size_t j = 0; j < n_head; ++j) {
        scores(kind, earlier * n_head + i, later * n_head + j) = block(i, j);
      }
    }
  });
}

Circuits measure(const Model& model, bool fold_layer_norm) {
  const std::size_t n_layer = model.layers.size();
  const std::size_t n_head = model.config.n_head;
  Circuits circuits(n_layer, n_head);
  const arma::mat tokens =
      model.is_complete() ? token_circuit(model, fold_layer_norm) : arma::mat();
  std::vector<CompositionFactors> factors(n_layer);
  parallel_for(n_layer, [&](std::size_t layer) {
    const CircuitWeights weights =
        circuit_weights(model.layers[layer], model.config.n_head, fold_layer_norm);
    measure_layer(model, layer, weights, circuits);
    for (std::size_t h = 0; h < n_head && !tokens.is_empty(); ++h) {
      circuits.ov_copying_full(layer, h) =
          ov_copying_full(weights.of(Projection::v, h), weights.of(Projection::o, h), tokens);
    }
    factors[layer] = composition_factors(weights);
  });
  measure_composition(factors, n_head, circuits.composition);
  return circuits;
}

/// Mean and standard deviation of the overlap of random subspaces.
std::pair<double, double> subspace_null(const ModelConfig& config,
                                        const AnalysisSettings& settings) {
  arma::vec overlap(settings.n_null);
  const bool fold = settings.own<CircuitsOptions>().fold_layer_norm;
  parallel_for(settings.n_null, [&](std::size_t draw) {
    overlap[draw] = random_subspace_overlap(config.d_model, config.d_head(), fold,
                                            CounterRandom(settings.seed, subspace_stream + draw));
  });
  return {settings.n_null > 0 ? arma::mean(overlap) : arma::datum::nan,
          settings.n_null > 1 ? arma::stddev(overlap) : arma::datum::nan};
}

void add_dimensions(const ModelConfig& config, ResultsGroup& group) {
  group.add_dimension(Dimension::labels("projection", {"q", "k", "v", "o"}));
  group.add_dimension(Dimension::labels("kind", {"q", "k", "v"}));
  group.add_dimension(Dimension::count("layer", config.n_layer));
  for (const char* const name : {"head", "head_i", "head_j"}) {
    group.add_dimension(Dimension::count(name, config.n_head));
  }
  for (const char* const name : {"unit_from", "unit_to"}) {
    group.add_dimension(Dimension::count(name, config.n_layer * config.n_head));
  }
  group.add_dimension(Dimension::count("offset", n_position_offset));
}

std::string folding_text(bool fold_layer_norm) {
  return fold_layer_norm ? "; LayerNorm folded in, weights centred" : "; raw weights, not folded";
}

void add_copying_counts(const Array& ov_copying, ResultsGroup& group) {
  const auto add = [&](const char* name, double sign, const std::string& which) {
    const auto count = std::ranges::count_if(
        ov_copying.values, [&](double value) { return sign * value > least_copying; });
    group.add(
        Variable::integer(name, {}, Array(Shape{}, static_cast<double>(count)),
                          "Heads whose ov_copying is " + which + number_text(least_copying, 2),
                          "count", own_definition));
  };
  add("n_copying", 1, "above ");
  add("n_opposite", -1, "below -");
}

void add_full_copying(Array values, bool fold_layer_norm, ResultsGroup& group) {
  group.add(Variable::real(
      "ov_copying_full", {"layer", "head"}, std::move(values),
      "Copying of the circuit from token to token, W_E W_V W_O W_U, as ov_copying: by the "
      "eigenvalues of W_O (W_U W_E) W_V" +
          std::string(fold_layer_norm
                          ? "; LayerNorms folded in, all weights and each token's embedding and "
                            "unembedding centred over d_model"
                          : "; raw weights, not folded"),
      "1", "Elhage et al. 2021"));
}

void add_measures(Circuits circuits, Index n_position, bool fold_layer_norm, ResultsGroup& group) {
  const std::string folding = folding_text(fold_layer_norm);
  add_copying_counts(circuits.ov_copying, group);
  group.add(Variable::real(
      "ov_copying", {"layer", "head"}, std::move(circuits.ov_copying),
      "Copying of the OV circuit: real part of the sum of the eigenvalues of W_O W_V over the sum "
      "of their absolute values, in [-1, 1]" +
          folding,
      "1", "Elhage et al. 2021"));
  group.add(Variable::real(
      "subspace_overlap", {"projection", "layer", "head_i", "head_j"}, std::move(circuits.overlap),
      "Mean squared cosine of the principal angles between the column spaces of two heads (for o "
      "the row spaces) in the residual stream, |U_i' U_j|^2 / d_head (the smaller rank where a "
      "head has less); chance is d_head / d_model" +
          folding,
      "1", "Bjorck & Golub 1973"));
  group.add(Variable::real("principal_angle_min", {"projection", "layer", "head_i", "head_j"},
                           std::move(circuits.angle_min),
                           "Smallest principal angle between the subspaces of two heads" + folding,
                           "degrees", "Bjorck & Golub 1973"));
  group.add(Variable::real(
      "qk_rank90_median", {}, Array(Shape{}, arma::median(arma::vec(circuits.rank.values))),
      "Median of qk_rank90 over all heads" + folding, "count", "Cordonnier et al. 2020"));
  group.add(Variable::integer(
      "qk_rank90", {"layer", "head"}, std::move(circuits.rank),
      "Singular values of W_Q W_K' of a head that carry 90 % of the squared sum" + folding, "count",
      "Cordonnier et al. 2020"));
  group.add(Variable::integer(
      "qk_rank90_joint", {"layer"}, std::move(circuits.rank_joint),
      "Singular values that carry 90 % of the squared sum of W_Q W_K' with the heads side by side "
      "in both, d_model x d_model" +
          folding,
      "count", "Cordonnier et al. 2020"));
  group.add(Variable::real(
      "composition", {"kind", "unit_from", "unit_to"}, std::move(circuits.composition),
      "Composition |OV_1 X_2| / (|OV_1| |X_2|) of an earlier head with a later layer's, Frobenius "
      "norms, OV = W_V W_O; X_2 = QK for q, its transpose for k, OV for v; unit = layer * n_head + "
      "head; NaN where the second is not in a later layer" +
          folding,
      "1", "Elhage et al. 2021"));
  const std::string position =
      ", with the position embeddings 0 .. " + std::to_string(n_position - 1) +
      " alone put through the layer's ln_1: exact for layer 0, while deeper layers read a residual "
      "stream; mean over queries >= 2";
  group.add(Variable::real(
      "position_only_share", {"layer", "head", "offset"}, std::move(circuits.share),
      "Attention mass on the key this many positions back (none where there is no such key)" +
          position,
      "probability", own_definition));
  group.add(Variable::real("position_only_sink", {"layer", "head"}, std::move(circuits.sink),
                           "Attention mass on position 0" + position, "probability",
                           own_definition));
}

void add_nulls(const ModelConfig& config, const AnalysisSettings& settings, ResultsGroup& group) {
  const CompositionNull composition =
      composition_null(config.d_model, config.d_head(), settings.n_null, settings.seed);
  const std::string draws = std::to_string(settings.n_null) + " seeded draws";
  group.add(Variable::real(
      "composition_null", {"kind"}, Array({3}, {composition.mean.begin(), composition.mean.end()}),
      "Mean composition of independent Gaussian matrices of the same shapes, " + draws, "1",
      "Elhage et al. 2021"));
  group.add(Variable::real(
      "composition_null_std", {"kind"},
      Array({3}, {composition.std.begin(), composition.std.end()}),
      "Standard deviation of the composition of independent Gaussian matrices, " + draws, "1",
      "Elhage et al. 2021"));
  const auto [mean, deviation] = subspace_null(config, settings);
  group.add(Variable::real(
      "subspace_overlap_null_mean", {}, Array(Shape{}, mean),
      "Mean overlap of the column spaces of independent Gaussian matrices, d_model x d_head, "
      "centred where the weights are, " +
          draws,
      "1", "Bjorck & Golub 1973"));
  group.add(Variable::real("subspace_overlap_null_std", {}, Array(Shape{}, deviation),
                           "Standard deviation of the overlap of such column spaces, " + draws, "1",
                           "Bjorck & Golub 1973"));
}

class CircuitsAnalysis : public Analysis {
 public:
  explicit CircuitsAnalysis(const AnalysisContext& context)
      : model_(context.model), corpus_(context.corpus), settings_(context.settings) {}

  std::vector<ResultsGroup> finish(const Statistics& /*statistics*/) const override {
    ResultsGroup group;
    group.name = circuits_info.name;
    group.title = circuits_info.title;
    add_dimensions(model_.config, group);
    const bool fold = settings_.own<CircuitsOptions>().fold_layer_norm;
    Circuits circuits = measure(model_, fold);
    if (model_.is_complete()) add_full_copying(circuits.ov_copying_full, fold, group);
    add_measures(std::move(circuits), n_position_used(model_), fold, group);
    add_nulls(model_.config, settings_, group);
    group.claims = circuit_claims(group, settings_);
    group.summary = circuit_summary(group, induction_units());
    return {std::move(group)};
  }

 private:
  /// The induction heads of a complete model.
  std::vector<std::size_t> induction_units() const {
    std::vector<std::size_t> units;
    if (!model_.is_complete()) return units;
    const Array scores =
        induction_scores(model_, induction_first_token(model_, corpus_), settings_.seed);
    const std::size_t n_sequence = scores.shape[0], n_unit = scores.size() / n_sequence;
    for (std::size_t unit = 0; unit < n_unit; ++unit) {
      double mean = 0;
      for (std::size_t s = 0; s < n_sequence; ++s) mean += scores.values[s * n_unit + unit];
      if (mean / static_cast<double>(n_sequence) >= least_induction) units.push_back(unit);
    }
    return units;
  }

  const Model& model_;
  const Corpus* corpus_;
  AnalysisSettings settings_;
};

std::uint64_t memory(const RunShape& run) {
  const std::uint64_t d = run.config.d_model, n_unit = run.n_unit();
  // Four factors per layer; per thread, four matrices in double and their products; the scores; the
  // circuit of tokens and a part of its factors; the forward pass on induction sequences.
  return 3 * d * d * sizeof(double) + 2 * d * 2048 * sizeof(double) +
         Forward::bytes(run.config, std::min<Index>(run.config.n_ctx, 101), true) +
         run.config.n_layer * 4 * d * d * sizeof(float) +
         static_cast<std::uint64_t>(run.n_thread) * 9 * d * d * sizeof(double) +
         composition_kinds.size() * n_unit * n_unit * sizeof(double);
}

}  // namespace

RegisteredAnalysis circuits_analysis() {
  return {
      circuits_info,
      [](const AnalysisContext& context) { return std::make_unique<CircuitsAnalysis>(context); },
      circuits_figures,
      circuits_presentation(),
      memory,
      &AnalysisSettings::declare_own<CircuitsOptions>};
}

}  // namespace headscope
