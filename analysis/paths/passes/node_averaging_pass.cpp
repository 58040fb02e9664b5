#include "headscope/forward.hpp"
#include "mean_z.hpp"
#include "paths/passes/path_pass.hpp"

namespace headscope {
namespace {

/// Where a column counts in the means of nodes, and how often.
struct Place {
  Index position;
  double count;
};

/// @param n_side  by column, the sides that share its token; 0 at position 0, which by position
///                counts for both sides.
std::vector<Place> places_of(const SequenceBatch& batch, const std::vector<double>& n_side,
                             Index n_place) {
  const std::vector<Index> positions = positions_of(batch.sequences);
  std::vector<Place> places;
  for (Index column = 0; column < n_side.size(); ++column) {
    if (n_place == 1) {
      places.push_back({0, n_side[column]});
    } else {
      places.push_back({positions[column], positions[column] == 0 ? 2 : n_side[column]});
    }
  }
  return places;
}

/// Adds what the nodes of a layer write, heads before W_O.
void add_outputs(const LayerView& view, const Vector& b_out, const std::vector<Place>& places,
                 Array& z, Array& mlp) {
  for (Index t = 0; t < view.n_token; ++t) {
    const auto [place, count] = places[t];
    for (Index i = 0; i < view.resid_post.n_rows; ++i) {
      const double written = static_cast<double>(view.resid_post(i, t)) -
                             static_cast<double>(view.resid_mid(i, t)) -
                             (b_out.is_empty() ? 0.0 : static_cast<double>(b_out(i)));
      mlp(place, view.layer, i) += count * written;
    }
    for (Index i = 0; i < view.z.n_rows; ++i) {
      z(place, view.layer, i) += count * static_cast<double>(view.z(i, t));
    }
  }
}

/// d_model x (n_node n_position), from a task's sums.
Matrix node_outputs_mean(const PathsInput& input, const Statistics& earlier, const PathSums& names,
                         Index n_place) {
  const ModelConfig& config = input.model.config;
  const Index d_model = config.d_model, d_head = config.d_head();
  const Array embed = earlier.total(names.embed), z = earlier.total(names.z),
              mlp = earlier.total(names.mlp), n_at_place = earlier.total(names.n_at_place);
  Matrix means(d_model, input.graph.n_node() * n_place);
  for (Index place = 0; place < n_place; ++place) {
    const double count = n_at_place(place);
    const auto by = [&](Index node) { return means.col(node * n_place + place); };
    const auto mean_of = [&](const Array& sums, Index first, Index n) {
      return means_of(std::span(sums.values).subspan(first, n), count);
    };
    by(EdgeGraph::embed) = mean_of(embed, place * d_model, d_model);
    for (Index l = 0; l < config.n_layer; ++l) {
      const Index layer = place * config.n_layer + l;
      by(input.graph.mlp(l)) = mean_of(mlp, layer * d_model, d_model);
      for (Index h = 0; h < config.n_head; ++h) {
        by(input.graph.head(l, h)) =
            input.model.layers[l].W_O.cols(h * d_head, (h + 1) * d_head - 1) *
            mean_of(z, layer * config.d_z() + h * d_head, d_head);
      }
    }
  }
  return means;
}

class NodeAveragingPass : public TaskPass {
 public:
  explicit NodeAveragingPass(const PathsInput& input)
      : input_(input), forward_(input.model, input.compute) {}
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    const PairBatch& pairs = input_.batches[batch];
    const Task& task = input_.tasks[pairs.task];
    const SequenceBatch sequences = sequences_of(task, pairs, true);
    const std::vector<double> times = token_counts(task, pairs);
    const PathSums names(pairs.task);
    const Index n_place = input_.options().n_position(task);
    const std::vector<Place> places = places_of(sequences, times, n_place);
    const ModelConfig& config = input_.model.config;
    const Index d_model = config.d_model, n_layer = config.n_layer;
    Array &embed = statistics.sum(names.embed, {n_place, d_model}),
          &token = statistics.sum(names.token, {d_model}),
          &z = statistics.sum(names.z, {n_place, n_layer, config.d_z()}),
          &mlp = statistics.sum(names.mlp, {n_place, n_layer, d_model});
    LayerFunction sums([&](const LayerView& view) {
      add_outputs(view, input_.model.layers[view.layer].b_out, places, z, mlp);
      for (Index t = 0; view.layer == 0 && t < view.n_token; ++t) {
        for (Index i = 0; i < d_model; ++i) {
          embed(places[t].position, i) +=
              places[t].count * static_cast<double>(view.resid_pre(i, t));
        }
      }
    });
    forward_.run(sequences, {&sums});
    for (Index t = 0; t < sequences.n_column(); ++t) {
      const float* const embedded =
          input_.model.W_E.colptr(static_cast<Index>(sequences.tokens[t]));
      for (Index i = 0; i < d_model; ++i) token(i) += times[t] * static_cast<double>(embedded[i]);
    }
    Array &n_token = statistics.sum(names.n_token, {1}),
          &n_at_place = statistics.sum(names.n_at_place, {n_place});
    for (const double count : times) n_token(0) += count;
    for (const Place& place : places) n_at_place(place.position) += place.count;
    return sequences.n_column();
  }

 private:
  const PathsInput& input_;
  Forward forward_;
};

}  // namespace

PathPass node_averaging_pass() {
  return {"averaging nodes on tasks", make_pass<NodeAveragingPass, PathsInput>,
          [](const PathsInput& input, std::uint64_t batch) { return input.n_token(batch); }};
}

NodeMeans node_means(const PathsInput& input, const Statistics& earlier) {
  const Index d_model = input.model.config.d_model;
  NodeMeans means;
  for (std::size_t task = 0; task < input.tasks.size(); ++task) {
    const PathSums names(task);
    const Index n_place = input.options().n_position(input.tasks[task]);
    const bool is_known = earlier.has(names.n_token);
    means.token.push_back(
        is_known ? means_of(earlier.total(names.token).values, earlier.total(names.n_token)(0))
                 : Vector(d_model, arma::fill::zeros));
    means.replacement.push_back(
        is_known && input.options().ablation != "zero"
            ? node_outputs_mean(input, earlier, names, n_place)
            : Matrix(d_model, input.graph.n_node() * n_place, arma::fill::zeros));
  }
  return means;
}

}  // namespace headscope
