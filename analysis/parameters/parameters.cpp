#include "parameters/parameters.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/number_text.hpp"
#include "base/thread_errors.hpp"
#include "headscope/figure.hpp"
#include "headscope/parameters.hpp"
#include "parameters/block_energy.hpp"
#include "parameters/cost.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

const AnalysisInfo parameters_info{
    .name = "parameters",
    .title = "Parameters and cost",
    .purpose =
        "Counts parameters and multiply-accumulates, and measures whether the projections are "
        "block-diagonal over heads.",
    .source = "Vaswani et al. 2017; Radford et al. 2019",
};

const char* const vaswani_2017 = "Vaswani et al. 2017, section 3.2.2";
const char* const radford_2019 = "Radford et al. 2019";

const VariableTable variables{
    Declaration::count(
        "count", "component",
        "Parameters of the complete model by its config; attention_q, k, v and o are weights, "
        "attention_bias is the biases; a tied unembedding counts once, as token_embedding",
        radford_2019),
    Declaration::count("count_held", "component",
                       "Parameters that the loaded model holds in memory, zeros of pruned heads "
                       "included; fewer than count if the file holds attention weights only",
                       radford_2019),
    Declaration::count("architecture_parameters", "architecture scheme",
                       "Weights of one layer's attention, without biases: dense and single_head "
                       "4d^2, block_diagonal_qkv 3d^2/h + d^2, block_diagonal_all 4d^2/h; without "
                       "W_O the output's part is left out (babygpt-v3, babygpt-v4: 3d^2). Heads "
                       "that share keys and values have fewer, heads that are not d/h wide have "
                       "weights by their width",
                       vaswani_2017),
    Declaration::count(
        "architecture_biases", "architecture",
        "Biases of one layer's attention if every projection has one, counted apart: 4d, or 3d "
        "without W_O, fewer where heads share keys and values; the same under every scheme",
        vaswani_2017),
    Declaration::count("d_model", "architecture", "Width of the residual stream", vaswani_2017),
    Declaration::count("n_head", "architecture", "Heads per layer", vaswani_2017),
    Declaration::count("d_head", "architecture", "Width of one head", vaswani_2017),
    Declaration::count(
        "macs", "scheme term n_token",
        "Multiply-accumulates of one layer of this model: Q, K, V projections 3Td^2, QK' and AV "
        "T^2 d each, output Td^2, with no causal saving; softmax_exponentials counts exponentials, "
        "hT^2. dense: h heads of width d/h; single_head: one head of width d; block-diagonal "
        "projections cost 1/h. Heads that share keys and values project fewer of them",
        vaswani_2017),
    {"block_energy", "projection layer", "1",
     "Share of the squared weights that lies in the diagonal blocks, when the projection (input x "
     "output) is cut into h x h equal blocks; h is the number of heads, for keys and values the "
     "number of groups of heads that share them; chance is 1/h; NaN where h does not divide a side "
     "of the projection"},
    {"block_energy_null_mean", "projection layer", "1",
     "Mean of block_energy over {n_null} seeded permutations of the input rows"},
    {"block_energy_null_std", "projection layer", "1",
     "Standard deviation of block_energy over {n_null} seeded permutations of the input rows"},
    {"block_energy_z", "projection layer", "standard deviations",
     "(block_energy - block_energy_null_mean) / block_energy_null_std"},
    {"block_energy_p", "projection layer", "probability",
     "(1 + permutations with at least this block_energy) / (1 + permutations), not corrected for "
     "the number of matrices"},
};

std::vector<std::string> to_strings(const auto& views) {
  return {views.begin(), views.end()};
}

void add_counts(const Model& model, ResultsGroup& group) {
  std::vector<std::string> components;
  for (std::size_t c = 0; c < n_component; ++c) {
    components.emplace_back(component_name(static_cast<Component>(c)));
  }
  components.emplace_back("total");
  group.add_dimension(Dimension::labels("component", components));
  const auto add = [&](const char* name, const ParameterCounts& counts) {
    std::vector<double> values(counts.by_component.begin(), counts.by_component.end());
    values.push_back(static_cast<double>(counts.total()));
    group.add(variables[name], values);
  };
  add("count", parameter_counts(model.config, !model.b_U.is_empty()));
  add("count_held", held_parameters(model));
}

void add_architectures(const ModelConfig& config, ResultsGroup& group) {
  std::vector<NamedArchitecture> architectures(named_architectures().begin(),
                                               named_architectures().end());
  std::vector<AttentionShape> shapes;
  for (const NamedArchitecture& architecture : architectures) {
    shapes.push_back(AttentionShape::of(architecture.d_model, architecture.n_head,
                                        architecture.has_output_projection));
  }
  architectures.push_back({"loaded_model", config.d_model, config.n_head, true});
  shapes.push_back(AttentionShape::of(config));

  const std::size_t n = architectures.size();
  std::vector<std::string> names;
  Array weights({n, projection_schemes.size()});
  for (std::size_t a = 0; a < n; ++a) {
    names.emplace_back(architectures[a].name);
    for (std::size_t s = 0; s < projection_schemes.size(); ++s) {
      weights(a, s) = attention_parameters(static_cast<ProjectionScheme>(s), shapes[a]);
    }
  }

  group.add_dimension(Dimension::labels("architecture", names));
  group.add_dimension(Dimension::labels("scheme", to_strings(projection_schemes)));
  group.add(variables["architecture_parameters"], weights);
  group.add(variables["architecture_biases"], shapes, [](const AttentionShape& architecture) {
    return (architecture.n_head + 2 * architecture.n_group) * architecture.d_head +
           (architecture.has_output_projection ? architecture.d_model : 0);
  });
  group.add(variables["d_model"], architectures, &NamedArchitecture::d_model);
  group.add(variables["n_head"], architectures, &NamedArchitecture::n_head);
  group.add(variables["d_head"], shapes, &AttentionShape::d_head);
}

void add_costs(const ModelConfig& config, ResultsGroup& group) {
  const std::vector<double> n_token{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
  Array macs({projection_schemes.size(), cost_terms.size(), n_token.size()});
  for (std::size_t s = 0; s < projection_schemes.size(); ++s) {
    for (std::size_t c = 0; c < cost_terms.size(); ++c) {
      for (std::size_t t = 0; t < n_token.size(); ++t) {
        macs(s, c, t) = attention_cost(static_cast<ProjectionScheme>(s), static_cast<CostTerm>(c),
                                       AttentionShape::of(config), n_token[t]);
      }
    }
  }
  group.add_dimension(Dimension::labels("term", to_strings(cost_terms)));
  group.add_dimension(Dimension::numbers("n_token", n_token));
  group.add(variables["macs"], std::move(macs));
}

void add_block_energy(const Model& model, const AnalysisSettings& settings, ResultsGroup& group) {
  const std::size_t n_layer = model.layers.size();
  const ModelConfig& config = model.config;
  const std::array<std::pair<Index, Index>, 3> rows{{{config.q_row(0), config.d_z()},
                                                     {config.k_row(0), config.d_kv()},
                                                     {config.v_row(0), config.d_kv()}}};
  std::vector<BlockEnergy> blocks(4 * n_layer);
  for_each_in_parallel(blocks.size(), [&](std::size_t i) {
    const std::vector<std::size_t> place = unravelled(i, {4, n_layer});
    const std::size_t projection = place[0];
    const LayerWeights& layer = model.layers[place[1]];
    const bool is_output = projection == 3;
    const auto [first, n_row] = is_output ? std::pair<Index, Index>{0, 1} : rows[projection];
    const Matrix W = is_output ? layer.W_O : Matrix(layer.W_QKV.rows(first, first + n_row - 1));
    blocks[i] = block_energy(W, n_block_of(config, projection), settings.n_null, settings.seed, i);
  });

  group.add_dimension(Dimension::labels("projection", {"q", "k", "v", "o"}));
  group.add_dimension(Dimension::count("layer", n_layer));
  const std::string n_null = std::to_string(settings.n_null);
  group.add(variables["block_energy"], blocks, &BlockEnergy::energy);
  group.add(variables["block_energy_null_mean"].with("n_null", n_null), blocks,
            &BlockEnergy::null_mean);
  group.add(variables["block_energy_null_std"].with("n_null", n_null), blocks,
            &BlockEnergy::null_std);
  group.add(variables["block_energy_z"], blocks, &BlockEnergy::z);
  group.add(variables["block_energy_p"], blocks, &BlockEnergy::p);
}

std::string attention_weights_text(const ModelConfig& config) {
  const auto weights = [&](ProjectionScheme scheme) {
    return static_cast<std::uint64_t>(attention_parameters(scheme, AttentionShape::of(config)));
  };
  const std::uint64_t held = weights(ProjectionScheme::dense),
                      single = weights(ProjectionScheme::single_head);
  const auto d = static_cast<std::uint64_t>(config.d_model);
  std::string text = " One layer's attention has ";
  if (held == 4 * d * d) text += "4 x " + std::to_string(d) + "^2 = ";
  text += grouped(held) + " weights with " + heads_of_layer_text(config);
  if (held == single) return text + " as with one.";
  return text + " of queries and " + std::to_string(config.n_group()) +
         " of keys and values; one head of the same width would have " + grouped(single) + ".";
}

std::string summary(const Model& model, const ResultsGroup& group) {
  const ModelConfig& config = model.config;
  const ParameterCounts counts = parameter_counts(config, !model.b_U.is_empty());
  const std::uint64_t held = held_parameters(model).total();
  std::uint64_t attention = 0;
  for (const Component part :
       {Component::attention_q, Component::attention_k, Component::attention_v,
        Component::attention_o, Component::attention_bias}) {
    attention += counts[part];
  }
  const auto share = [&](std::uint64_t part) {
    return grouped(part) + " (" +
           percent(static_cast<double>(part) / static_cast<double>(counts.total())) + ")";
  };
  std::string text = "The model has " + grouped(counts.total()) + " parameters, " +
                     share(attention) + " of them in attention and " +
                     share(counts[Component::mlp]) + " in the MLPs.";
  if (held < counts.total()) text += " The file holds " + grouped(held) + " of them.";
  text += attention_weights_text(config);
  const std::vector<double> energy = values_of_several_blocks(group, "block_energy", config);
  if (energy.empty()) return text;
  const auto [low, high] = std::ranges::minmax(energy);
  const bool has_blocks = has_blocks_of_heads(config);
  text += " The diagonal blocks of its projections hold " + percent(low) + " to " + percent(high) +
          " of the squared weights, where " +
          percent(1 / static_cast<double>(has_blocks ? config.n_head : config.n_group())) +
          " is chance";
  if (has_blocks && config.n_group() > 1 && config.n_group() != config.n_head) {
    text += " (" + percent(1 / static_cast<double>(config.n_group())) +
            " for keys and values, which " + std::to_string(config.n_group()) +
            " groups of heads share)";
  }
  return text + "." + left_out_text(config);
}

class ParametersAnalysis : public Analysis {
 public:
  explicit ParametersAnalysis(const AnalysisContext& context)
      : model_(context.model), settings_(context.settings) {}

  std::vector<ResultsGroup> finish(const Statistics& /*statistics*/) const override {
    ResultsGroup group;
    group.name = parameters_info.name;
    add_counts(model_, group);
    add_architectures(model_.config, group);
    add_costs(model_.config, group);
    add_block_energy(model_, settings_, group);
    group.claims = parameter_claims(model_, settings_, group);
    group.summary = summary(model_, group);
    return {std::move(group)};
  }

 private:
  const Model& model_;
  AnalysisSettings settings_;
};

Description description(const Results& results) {
  const Array& counts = results.group(parameters_info.name).variable("count").values;
  Description description;
  description.model_size = number_text(counts.values.back() / 1e6, 4) + " million parameters";
  return description;
}

std::uint64_t memory(const RunShape& run) {
  // Per thread, a copy of a projection, its sums of squares by block and column, and its nulls.
  const std::uint64_t n_weight = run.config.d_model * run.config.d_z();
  return static_cast<std::uint64_t>(run.n_thread) *
         (n_weight * (sizeof(float) + sizeof(double)) + run.settings.n_null * sizeof(double));
}

}  // namespace

RegisteredAnalysis parameters_analysis() {
  return registered<ParametersAnalysis>(
      parameters_info, parameters_figures,
      {.group = parameters_info.name, .describe = description, .variables = &variables}, memory);
}

}  // namespace headscope
