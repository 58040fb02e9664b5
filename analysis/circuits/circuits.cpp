#include "circuits/circuits.hpp"

#include <algorithm>

#include "base/number_text.hpp"
#include "base/thread_errors.hpp"
#include "circuits/composition.hpp"
#include "circuits/measures.hpp"
#include "circuits/position.hpp"
#include "circuits/weights.hpp"
#include "headscope/figure.hpp"
#include "headscope/forward.hpp"
#include "induction.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// First random stream of the subspace null; the composition null uses the streams below it.
constexpr std::uint64_t subspace_stream = std::uint64_t{1} << 32;

const AnalysisInfo circuits_info{
    .name = "circuits",
    .title = "Circuits in the weights",
    .purpose =
        "Reads copying, subspaces, ranks, composition and positional attention off the weights of "
        "each head.",
    .source = "Elhage et al. 2021; Cordonnier et al. 2020",
};

const char* const elhage_2021 = "Elhage et al. 2021";
const char* const cordonnier_2020 = "Cordonnier et al. 2020";
const char* const bjorck_1973 = "Bjorck & Golub 1973";

const std::string position_only =
    ", when the layer reads only the position embeddings 0 .. {last}, through its ln_1; exact for "
    "layer 0, not for deeper layers, which read a residual stream; mean over queries >= 2";

const VariableTable variables{
    {"ov_copying_full", "layer head", "1",
     "ov_copying of the circuit from token to token, W_E W_V W_O W_U: computed from the "
     "eigenvalues of W_O (W_U W_E) W_V; {folding}",
     elhage_2021},
    Declaration::count("n_copying", "",
                       "Heads whose ov_copying is above " + number_text(least_copying, 2)),
    Declaration::count("n_opposite", "",
                       "Heads whose ov_copying is below -" + number_text(least_copying, 2)),
    {"ov_copying", "layer head", "1",
     "Copying of the OV circuit: real part of the sum of the eigenvalues of W_O W_V over the sum "
     "of their absolute values, in [-1, 1]{folding}",
     elhage_2021},
    {"subspace_overlap", "projection layer head_i head_j", "1",
     "Mean squared cosine of the principal angles between the column spaces of two heads (for o "
     "the row spaces) in the residual stream, |U_i' U_j|^2 / d_head (the smaller rank where a head "
     "has less); chance is d_head / d_model, with lesser ranks the larger rank / d_model{folding}",
     bjorck_1973},
    {"principal_angle_min", "projection layer head_i head_j", "degrees",
     "Smallest principal angle between the subspaces of two heads{folding}", bjorck_1973},
    {"qk_rank90_median", "", "count",
     "Median of qk_rank90 over heads whose W_Q W_K' is not zero, as that of a pruned head "
     "is{folding}",
     cordonnier_2020},
    Declaration::count("qk_rank90", "layer head",
                       "Number of singular values of the head's W_Q W_K' that carry 90 % of the "
                       "sum of squares{folding}",
                       cordonnier_2020),
    Declaration::count("qk_rank90_joint", "layer",
                       "As qk_rank90, for W_Q W_K' of all heads of the layer side by side, d_model "
                       "x d_model{folding}",
                       cordonnier_2020),
    {"composition", "kind unit_from unit_to", "1",
     "Composition of an earlier head (1) with a head of a later layer (2): |OV_1 X_2| / (|OV_1| "
     "|X_2|), Frobenius norms, OV = W_V W_O; X_2 = QK for q, the transpose of QK for k, OV for v; "
     "unit = layer * n_head + head; NaN where the second head is not in a later layer{folding}",
     elhage_2021},
    {"position_only_share", "layer head offset", "probability",
     "Attention to the key at this offset before the query (queries without such a key count 0)" +
         position_only},
    {"position_only_sink", "layer head", "probability", "Attention to position 0" + position_only},
    {"composition_null", "kind", "1",
     "Mean composition of independent Gaussian matrices of the same shapes, {n_draw} seeded draws",
     elhage_2021},
    {"composition_null_std", "kind", "1",
     "Standard deviation of the composition of independent Gaussian matrices, {n_draw} seeded "
     "draws",
     elhage_2021},
    {"subspace_overlap_null_mean", "", "1",
     "Mean overlap of the column spaces of independent Gaussian matrices, d_model x d_head, "
     "centred where the weights are, {n_draw} seeded draws",
     bjorck_1973},
    {"subspace_overlap_null_std", "", "1",
     "Standard deviation of the overlaps behind subspace_overlap_null_mean, {n_draw} seeded draws",
     bjorck_1973},
};

/// All results of the analysis, filled layer by layer.
struct Circuits {
  Array ov_copying, ov_copying_full, overlap, angle_min, subspace_rank, rank, rank_joint, share,
      sink, composition;

  Circuits(std::size_t n_layer, std::size_t n_head)
      : ov_copying({n_layer, n_head}),
        ov_copying_full({n_layer, n_head}),
        overlap({all_projections.size(), n_layer, n_head, n_head}),
        angle_min({all_projections.size(), n_layer, n_head, n_head}),
        subspace_rank({all_projections.size(), n_layer, n_head}),
        rank({n_layer, n_head}),
        rank_joint({n_layer}),
        share({n_layer, n_head, n_position_offset}),
        sink({n_layer, n_head}),
        composition({composition_kinds.size(), n_layer * n_head, n_layer * n_head},
                    arma::datum::nan) {}
};

/// Two heads that share keys and values have no angle between these.
void leave_out_shared(const ModelConfig& config, SubspaceAngles& angles) {
  for (Index i = 0; i < config.n_head; ++i) {
    for (Index j = 0; j < config.n_head; ++j) {
      if (i == j || config.group(i) != config.group(j)) continue;
      angles.overlap(i, j) = angles.angle_min(i, j) = arma::datum::nan;
    }
  }
}

void measure_layer(const Model& model, std::size_t layer, const CircuitWeights& weights,
                   Circuits& circuits) {
  const std::size_t n_head = weights.n_head;
  for (const Projection projection : all_projections) {
    const HeadSubspaces subspaces = head_subspaces(weights.of(projection), weights.n_head);
    SubspaceAngles angles = subspace_angles(subspaces);
    for (Index h = 0; h < n_head; ++h) {
      circuits.subspace_rank(projection, layer, h) = static_cast<double>(subspaces.rank[h]);
    }
    if (projection == Projection::k || projection == Projection::v) {
      leave_out_shared(model.config, angles);
    }
    circuits.overlap.set(angles.overlap, projection, layer);
    circuits.angle_min.set(angles.angle_min, projection, layer);
  }
  const bool has_positions = model.config.positions == PositionKind::learned;
  PositionOnlyAttention position;
  if (has_positions) {
    position = position_only_attention(model, layer);
    circuits.share.set(position.share, layer);
  }
  for (std::size_t h = 0; h < n_head; ++h) {
    circuits.ov_copying(layer, h) =
        ov_copying(weights.of(Projection::v, h), weights.of(Projection::o, h));
    circuits.rank(layer, h) =
        static_cast<double>(qk_rank90(weights.of(Projection::q, h), weights.of(Projection::k, h)));
    if (has_positions) circuits.sink(layer, h) = position.sink(h);
  }
  circuits.rank_joint(layer) = static_cast<double>(qk_rank90_joint(weights.W_Q, weights.W_K));
}

/// Keeps what all layers write, and what as many layers read as there are threads.
void measure_composition(const Model& model, const std::vector<WritingFactors>& written,
                         bool fold_layer_norm, Array& scores) {
  const std::size_t n_layer = written.size(), n_head = model.config.n_head;
  std::array<arma::mat, composition_kinds.size()> by_kind;
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) by_kind[kind] = scores.matrix(kind);
  for_each_in_parallel(n_layer - 1, [&](std::size_t i) {
    const std::size_t later = n_layer - 1 - i;  // the last layer, which reads most, first
    const ReadingFactors read = reading_factors(circuit_weights(model, later, fold_layer_norm));
    for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        by_kind[kind].submat(earlier * n_head, later * n_head, arma::size(n_head, n_head)) =
            composition(written[earlier], read, kind);
      }
    }
  });
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) scores.set(by_kind[kind], kind);
}

Circuits measure(const Model& model, bool fold_layer_norm) {
  const std::size_t n_layer = model.layers.size();
  const std::size_t n_head = model.config.n_head;
  Circuits circuits(n_layer, n_head);
  const arma::mat tokens =
      model.is_complete() ? token_circuit(model, fold_layer_norm) : arma::mat();
  std::vector<WritingFactors> written(n_layer);
  for_each_in_parallel(n_layer, [&](std::size_t layer) {
    const CircuitWeights weights = circuit_weights(model, layer, fold_layer_norm);
    measure_layer(model, layer, weights, circuits);
    for (std::size_t h = 0; h < n_head && !tokens.is_empty(); ++h) {
      circuits.ov_copying_full(layer, h) =
          ov_copying_full(weights.of(Projection::v, h), weights.of(Projection::o, h), tokens);
    }
    written[layer] = writing_factors(weights);
  });
  measure_composition(model, written, fold_layer_norm, circuits.composition);
  return circuits;
}

/// Mean and standard deviation of the overlap of random subspaces.
std::pair<double, double> subspace_null(const ModelConfig& config,
                                        const AnalysisSettings& settings) {
  arma::vec overlap(settings.n_null);
  const bool fold =
      settings.options<CircuitsOptions>().fold_layer_norm && config.norm == NormKind::layer_norm;
  for_each_in_parallel(settings.n_null, [&](std::size_t draw) {
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

void add_copying_counts(const Array& ov_copying, ResultsGroup& group) {
  const auto add = [&](const char* name, double sign) {
    const auto count = std::ranges::count_if(
        ov_copying.values, [&](double value) { return sign * value > least_copying; });
    group.add(variables[name], static_cast<double>(count));
  };
  add("n_copying", 1);
  add("n_opposite", -1);
}

void add_full_copying(const Array& values, const ModelConfig& config, bool fold_layer_norm,
                      ResultsGroup& group) {
  const char* folding = "raw weights, not folded";
  if (fold_layer_norm) {
    folding = config.norm == NormKind::rms_norm
                  ? "RMSNorms' gains folded in"
                  : "LayerNorms folded in, all weights and each token's embedding and unembedding "
                    "centred over d_model";
  }
  group.add(variables["ov_copying_full"].with("folding", folding), values);
}

void add_measures(const Circuits& circuits, const Model& model, bool fold_layer_norm,
                  ResultsGroup& group) {
  add_copying_counts(circuits.ov_copying, group);
  const ModelConfig& config = model.config;
  std::string folding = "; raw weights, not folded";
  if (fold_layer_norm) {
    folding = config.norm == NormKind::rms_norm ? "; RMSNorm's gain folded in"
                                                : "; LayerNorm folded in, weights centred";
  }
  const bool turns = config.positions == PositionKind::rotary;
  const auto add = [&](const char* name, const auto& values) {
    const std::string_view of(name);
    const bool of_queries = of.starts_with("qk_") || of == "composition";
    const bool shares = config.n_group() != config.n_head &&
                        (of == "subspace_overlap" || of == "principal_angle_min");
    group.add(variables[name].with(
                  "folding",
                  folding +
                      (turns && of_queries
                           ? "; queries and keys without rotation, as between tokens at distance 0"
                           : "") +
                      (shares ? "; NaN for k and v of two heads that share keys and values" : "")),
              values);
  };
  add("ov_copying", circuits.ov_copying);
  add("subspace_overlap", circuits.overlap);
  add("principal_angle_min", circuits.angle_min);
  std::vector<double> ranks = circuits.rank.values;
  std::erase(ranks, 0);
  add("qk_rank90_median", median_of_numbers(ranks));
  add("qk_rank90", circuits.rank);
  add("qk_rank90_joint", circuits.rank_joint);
  add("composition", circuits.composition);
  if (turns) return;
  const std::string last = std::to_string(n_position_used(model) - 1);
  group.add(variables["position_only_share"].with("last", last), circuits.share);
  group.add(variables["position_only_sink"].with("last", last), circuits.sink);
}

void add_nulls(const ModelConfig& config, const AnalysisSettings& settings, ResultsGroup& group) {
  const auto add = [&](const char* name, const auto& values) {
    group.add(variables[name].with("n_draw", std::to_string(settings.n_null)), values);
  };
  const CompositionNull null =
      composition_null(config.d_model, config.d_head(), settings.n_null, settings.seed);
  add("composition_null", null.mean);
  add("composition_null_std", null.std);
  const auto [mean, deviation] = subspace_null(config, settings);
  add("subspace_overlap_null_mean", mean);
  add("subspace_overlap_null_std", deviation);
}

class CircuitsAnalysis : public Analysis {
 public:
  explicit CircuitsAnalysis(const AnalysisContext& context)
      : model_(context.model), corpus_(context.corpus), settings_(context.settings) {}

  std::vector<ResultsGroup> finish(const Statistics& /*statistics*/) const override {
    ResultsGroup group;
    group.name = circuits_info.name;
    add_dimensions(model_.config, group);
    const bool fold = settings_.options<CircuitsOptions>().fold_layer_norm;
    const Circuits circuits = measure(model_, fold);
    if (model_.is_complete())
      add_full_copying(circuits.ov_copying_full, model_.config, fold, group);
    add_measures(circuits, model_, fold, group);
    add_nulls(model_.config, settings_, group);
    group.claims = circuit_claims(group, circuits.subspace_rank, model_.config, settings_);
    group.summary = circuit_summary(group, induction_heads());
    return {std::move(group)};
  }

 private:
  /// The induction heads of a complete model, as flat indices.
  std::vector<std::size_t> induction_heads() const {
    if (!model_.is_complete()) return {};
    const Array scores =
        induction_scores(model_, induction_first_token(model_, corpus_), settings_.seed);
    const std::size_t n_sequence = scores.shape[0];
    const Array sums = scores.weighted_sum(BootstrapCounts(n_sequence, 1));
    return numbers_where(sums.size(), [&](std::size_t head_index) {
      return sums.values[head_index] / static_cast<double>(n_sequence) >= least_induction;
    });
  }

  const Model& model_;
  const Corpus* corpus_;
  AnalysisSettings settings_;
};

std::uint64_t memory(const RunShape& run) {
  const std::uint64_t d = std::max(run.config.d_model, run.config.d_z()),
                      n_head_total = run.n_head_total();
  // What each layer writes; per thread, four matrices in double and their products; the scores,
  // twice while they are computed; the circuit of tokens and a part of its factors; the forward
  // pass on induction sequences.
  return 3 * d * d * sizeof(double) + 2 * d * circuit_tokens_at_once * sizeof(double) +
         induction_bytes(run.config) + run.config.n_layer * d * d * sizeof(float) +
         static_cast<std::uint64_t>(run.n_thread) * 9 * d * d * sizeof(double) +
         2 * composition_kinds.size() * n_head_total * n_head_total * sizeof(double) +
         // Random scores, with a copy of one kind's, and resampled layers.
         (1 + composition_kinds.size()) * run.settings.n_null * sizeof(double) +
         run.config.n_layer * run.settings.n_bootstrap * sizeof(double);
}

}  // namespace

RegisteredAnalysis circuits_analysis() {
  Presentation presentation = circuits_presentation();
  presentation.variables = &variables;
  return registered<CircuitsAnalysis, CircuitsOptions>(circuits_info, circuits_figures,
                                                       std::move(presentation), memory);
}

}  // namespace headscope
