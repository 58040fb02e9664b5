#include "paths/paths.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headscope/ablation.hpp"
#include "headscope/circuit.hpp"
#include "headscope/edge_ablation.hpp"
#include "headscope/figure.hpp"
#include "headscope/resampling.hpp"
#include "induction.hpp"
#include "pair_batches.hpp"
#include "paths/circuit_size.hpp"
#include "paths/integrated.hpp"
#include "paths/ordering.hpp"
#include "paths/pruning.hpp"
#include "paths/repeated_tokens.hpp"
#include "paths/results.hpp"
#include "paths/sums.hpp"

namespace headscope {
namespace {

/// First stream of the random parts of circuits.
constexpr std::uint64_t pruning_stream = std::uint64_t{3} << 60;

const AnalysisInfo paths_info{
    .name = "paths",
    .title = "Which heads feed which",
    .purpose =
        "Measures how the margin on minimal pairs changes when one part of the model no longer "
        "reads another: for every edge by integrated gradients, for the largest edges exactly. "
        "Finds how few edges keep the margin.",
    .source =
        "Wang et al. 2022, Interpretability in the Wild; Goldowsky-Dill et al. 2023, Localizing "
        "Model Behavior with Path Patching; Hanna et al. 2024, Have Faith in Faithfulness; Syed et "
        "al. 2023, Attribution Patching Outperforms Automated Circuit Discovery; Conmy et al. "
        "2023, Towards Automated Circuit Discovery",
    .passes = {"averaging nodes on tasks", "differentiating edges on tasks",
               "ablating edges on tasks", "narrowing circuits (1 of 4)",
               "narrowing circuits (2 of 4)", "narrowing circuits (3 of 4)",
               "narrowing circuits (4 of 4)", "pruning circuits"},
    .input = AnalysisInput::tasks,
};

/// Pass 0 sums what nodes write for its mean over each task; pass 1 takes the effect of every edge
/// from gradients; pass 2 ablates the largest exactly and runs circuits of 0, 1, 2, 4, ... edges;
/// the next narrow down from how many edges on circuits keep most of the margin; the last prunes
/// these circuits, all pairs of a task in its first batch.
class Paths : public TaskAnalysis {
 public:
  explicit Paths(const AnalysisContext& context)
      : model_(context.model),
        graph_(model_.config),
        settings_(context.settings),
        options_(settings_.own<PathsOptions>()),
        tasks_(context.tasks->tasks()),
        forward_(context.model, context.compute),
        ablation_(context.model, context.compute, settings_.ablation(0)),
        gradient_(context.model, context.compute, std::max<std::uint64_t>(1, options_.n_step)),
        exact_(context.model, context.compute),
        circuit_(context.model, context.compute) {
    if (options_.n_repeated > 0) {
      tasks_.push_back(repeated_tokens_task(model_, induction_first_token(model_, context.corpus),
                                            options_.n_repeated, settings_.seed));
    }
    batches_ = pair_batches(tasks_);
    given_.resize(tasks_.size());
    if (options_.ordering.empty()) return;
    std::vector<std::string> names;
    for (const Task& task : tasks_) names.push_back(task.name);
    given_[task_of_circuit(options_.ordering, names)] =
        read_edge_order(options_.ordering, model_.config);
  }

  std::uint64_t n_batch() const override { return batches_.size(); }

  void begin_pass(int pass, const Statistics& earlier) override {
    pass_ = pass;
    plans_.clear();
    sizes_.clear();
    fewest_.clear();
    if (pass > 0) read_means(earlier);
    for (std::size_t task = 0; pass >= exact_pass && task < tasks_.size(); ++task) {
      plans_.emplace_back(earlier, task, graph_, settings_);
      const CircuitSize size(earlier, task, graph_.n_edge(), settings_);
      sizes_.push_back(size.next());
      fewest_.push_back(pass == pruning_pass ? size.fewest().value : std::nan(""));
    }
  }

  double batch_cost(int pass, std::uint64_t batch) const override {
    const auto n_token = static_cast<double>(batches_[batch].n_column);
    if (pass == 0) return n_token;
    if (pass == 1) {
      return 5 * static_cast<double>(std::max<std::uint64_t>(1, options_.n_step)) * n_token;
    }
    if (pass == pruning_pass) {
      // Checks of half the pairs of a task.
      constexpr double n_check = 150;
      const PairBatch task = task_batch(batches_[batch].task);
      return is_first_of_task(batch)
                 ? n_check / 2 * n_token * static_cast<double>(sampled(task).size()) /
                       static_cast<double>(batches_[batch].count)
                 : 0;
    }
    const std::size_t n_sampled = sampled(batches_[batch]).size();
    const double share = static_cast<double>(n_sampled) /
                         static_cast<double>(std::max<std::size_t>(1, batches_[batch].count));
    const double n_variant =
        pass == exact_pass
            ? 0.5 * static_cast<double>(options_.n_exact) +
                  static_cast<double>(n_order(batches_[batch].task) *
                                          (circuit_steps(graph_.n_edge()).size() - 2) +
                                      2)
            : static_cast<double>(CircuitSize::n_point(graph_.n_edge()));
    return n_token * share * n_variant;
  }

  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    const PairBatch& pairs = batches_[batch];
    if (pass_ == 0) return add_means(pairs, statistics);
    if (pass_ == 1) return add_gradients(pairs, statistics);
    if (pass_ == pruning_pass) return is_first_of_task(batch) ? prune(pairs.task, statistics) : 0;
    std::uint64_t n_token = 0;
    if (pass_ == exact_pass) {
      for (const PairBatch& run : runs_of(pairs, batch_columns))
        n_token += add_exact(run, statistics);
    }
    const std::vector<std::vector<unsigned char>> circuits = circuits_of(pairs.task);
    if (circuits.empty()) return n_token;
    for (const PairBatch& run : runs_of(pairs, CircuitForward::columns_at_once(model_.config))) {
      n_token += add_circuits(run, circuits, statistics);
    }
    return n_token;
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    return {paths_results(statistics, tasks_, graph_, settings_)};
  }

  void relate(const Results& all, ResultsGroup& group) const override {
    add_composition(all, graph_, settings_, group);
  }

 private:
  // Pairs -----------------------------------------------------------------------------------------

  /// Numbers of the batch's pairs that are ablated exactly.
  std::vector<std::size_t> sampled(const PairBatch& batch) const {
    std::vector<std::size_t> pairs;
    for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
      if (options_.runs_pair(i, tasks_[batch.task].pairs.size())) pairs.push_back(i);
    }
    return pairs;
  }

  /// A batch of the pairs ablated exactly, as a task of its own, in parts of a width.
  struct SampledTask {
    Task task;
    std::vector<std::size_t> number;  // of each pair in the task it is from
  };

  std::vector<PairBatch> runs_of(const PairBatch& batch, Index most_columns) {
    sampled_.number = sampled(batch);
    sampled_.task.pairs.clear();
    for (const std::size_t i : sampled_.number) {
      sampled_.task.pairs.push_back(tasks_[batch.task].pairs[i]);
    }
    std::vector<PairBatch> runs = pair_batches({sampled_.task}, most_columns);
    for (PairBatch& run : runs) run.task = batch.task;
    return runs;
  }

  /// Orders of edges in which a task's circuits are run.
  std::size_t n_order(std::size_t task) const {
    return n_path_order + (given_[task].empty() ? 0 : 1);
  }

  PairBatch task_batch(std::size_t task) const { return {task, 0, tasks_[task].pairs.size(), 0}; }

  bool is_first_of_task(std::uint64_t batch) const {
    return batch == 0 || batches_[batch - 1].task != batches_[batch].task;
  }

  std::size_t block_of(const PairBatch& run, std::size_t i) const {
    return document_block(sampled_.number[run.first + i], tasks_[run.task].pairs.size());
  }

  // Pass 0 ----------------------------------------------------------------------------------------

  std::uint64_t add_means(const PairBatch& batch, DocumentStatistics& statistics) {
    const Task& task = tasks_[batch.task];
    const SequenceBatch sequences = sequences_of(task, batch, true);
    const std::vector<double> times = token_counts(task, batch);
    const PathSums names(batch.task);
    const Index n_place = options_.n_position(task);
    const std::vector<Place> places = places_of(sequences, times, n_place);
    const Index d_model = model_.config.d_model, d_z = model_.config.d_z(),
                n_layer = model_.config.n_layer;
    Array &embed = statistics.sum(names.embed, {n_place, d_model}),
          &token = statistics.sum(names.token, {d_model}),
          &z = statistics.sum(names.z, {n_place, n_layer, d_z}),
          &mlp = statistics.sum(names.mlp, {n_place, n_layer, d_model});
    LayerFunction sums([&](const LayerView& view) {
      const Vector& b_out = model_.layers[view.layer].b_out;
      for (Index t = 0; t < view.n_token; ++t) {
        const auto [place, count] = places[t];
        for (Index i = 0; i < d_model; ++i) {
          if (view.layer == 0) embed(place, i) += count * static_cast<double>(view.resid_pre(i, t));
          const double written = static_cast<double>(view.resid_post(i, t)) -
                                 static_cast<double>(view.resid_mid(i, t)) -
                                 (b_out.is_empty() ? 0.0 : static_cast<double>(b_out(i)));
          mlp(place, view.layer, i) += count * written;
        }
        for (Index i = 0; i < d_z; ++i) {
          z(place, view.layer, i) += count * static_cast<double>(view.z(i, t));
        }
      }
    });
    for (Index t = 0; t < sequences.n_column(); ++t) {
      const float* const embedded = model_.W_E.colptr(static_cast<Index>(sequences.tokens[t]));
      for (Index i = 0; i < d_model; ++i) token(i) += times[t] * static_cast<double>(embedded[i]);
    }
    LayerObserver* const observers[] = {&sums};
    forward_.run(sequences, observers);
    Array &n_token = statistics.sum(names.n_token, {1}),
          &n_at_place = statistics.sum(names.n_at_place, {n_place});
    for (const double each : times) n_token(0) += each;
    for (const Place& each : places) n_at_place(each.position) += each.count;
    return sequences.n_column();
  }

  /// Where a column counts in the means of nodes, and how often.
  struct Place {
    Index position;
    double count;
  };

  /// @param times  of columns after position 0; by position, position 0 counts for both sides.
  static std::vector<Place> places_of(const SequenceBatch& batch, const std::vector<double>& times,
                                      Index n_place) {
    const std::vector<Index> positions = positions_of(batch.sequences);
    std::vector<Place> places;
    for (Index column = 0; column < times.size(); ++column) {
      if (n_place == 1) {
        places.push_back({0, times[column]});
      } else {
        places.push_back({positions[column], positions[column] == 0 ? 2 : times[column]});
      }
    }
    return places;
  }

  void read_means(const Statistics& earlier) {
    const ModelConfig& config = model_.config;
    const Index d_model = config.d_model, d_head = config.d_head();
    replacement_.assign(tasks_.size(), Matrix());
    mean_token_.assign(tasks_.size(), Vector(d_model, arma::fill::zeros));
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      const PathSums names(task);
      const Index n_place = options_.n_position(tasks_[task]);
      replacement_[task].zeros(d_model, graph_.n_node() * n_place);
      if (!earlier.has(names.n_token)) continue;
      const Array embed = earlier.total(names.embed), z = earlier.total(names.z),
                  mlp = earlier.total(names.mlp);
      Matrix& means = replacement_[task];
      const auto mean_of = [](const Array& sums, Index first, Index n, double count) {
        Vector mean(n);
        for (Index i = 0; i < n; ++i) mean(i) = static_cast<float>(sums.values[first + i] / count);
        return mean;
      };
      mean_token_[task] =
          mean_of(earlier.total(names.token), 0, d_model, earlier.total(names.n_token)(0));
      if (options_.ablation == "zero") continue;
      const Array n_at_place = earlier.total(names.n_at_place);
      for (Index place = 0; place < n_place; ++place) {
        const double count = n_at_place(place);
        const auto by = [&](Index node) { return means.col(node * n_place + place); };
        by(EdgeGraph::embed) = mean_of(embed, place * d_model, d_model, count);
        for (Index l = 0; l < config.n_layer; ++l) {
          const Index layer = place * config.n_layer + l;
          by(graph_.mlp(l)) = mean_of(mlp, layer * d_model, d_model, count);
          for (Index h = 0; h < config.n_head; ++h) {
            by(graph_.head(l, h)) = model_.layers[l].W_O.cols(h * d_head, (h + 1) * d_head - 1) *
                                    mean_of(z, layer * config.d_z() + h * d_head, d_head, count);
          }
        }
      }
    }
  }

  // Pass 1 ----------------------------------------------------------------------------------------

  std::uint64_t add_gradients(const PairBatch& batch, DocumentStatistics& statistics) {
    const Task& task = tasks_[batch.task];
    const SequenceBatch sequences = sequences_of(task, batch, false);
    LayerObserver* const observers[] = {&ablation_};
    forward_.run(sequences, observers);
    const PathSums names(batch.task);
    Array &n_pair = statistics.sum(names.n_pair, {n_document_block}),
          &margin = statistics.sum(names.margin, {n_document_block}),
          &correct = statistics.sum(names.correct, {n_document_block});
    const std::vector<double> margins =
        margins_of(task, batch, ablation_.clean_loss(sequences).nll);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const std::size_t block = document_block(batch.first + i, task.pairs.size());
      n_pair(block) += 1;
      margin(block) += margins[i];
      correct(block) += margins[i] > 0 ? 1 : 0;
    }
    const Index n_edge = graph_.n_edge();
    std::vector<double> first_order(n_edge, 0), integrated(n_edge, 0), squares(n_edge, 0);
    gradient_.run(forward_, ablation_.activations(), sequences, margin_weights(task, batch),
                  replacement_[batch.task], mean_token_[batch.task], pair_ends(task, batch),
                  [&](Index, std::span<const float> of_pass, std::span<const float> of_all) {
                    for (Index edge = 0; edge < n_edge; ++edge) {
                      const auto effect = static_cast<double>(of_all[edge]);
                      first_order[edge] += static_cast<double>(of_pass[edge]);
                      integrated[edge] += effect;
                      squares[edge] += effect * effect;
                    }
                  });
    const auto add = [&](const std::string& name, const std::vector<double>& values) {
      statistics.add(name, {n_edge}, 0, std::vector<float>(values.begin(), values.end()));
    };
    add(names.first_order, first_order);
    add(names.integrated, integrated);
    add(names.squared_integrated, squares);
    return sequences.n_column();
  }

  // Pass 2 ----------------------------------------------------------------------------------------

  std::uint64_t add_exact(const PairBatch& run, DocumentStatistics& statistics) {
    const PathSums names(run.task);
    Array& n_exact = statistics.sum(names.n_exact, {n_document_block});
    for (std::size_t i = 0; i < run.count; ++i) n_exact(block_of(run, i)) += 1;
    const std::vector<Index>& edges = plans_[run.task].exact();
    if (edges.empty()) return 0;
    const SequenceBatch sequences = sequences_of(sampled_.task, run, false);
    LayerObserver* const observers[] = {&ablation_};
    forward_.run(sequences, observers);
    const std::vector<double> margins =
        margins_of(sampled_.task, run, ablation_.clean_loss(sequences).nll);
    const std::vector<TokenLoss> losses =
        exact_.losses(ablation_, sequences, edges, replacement_[run.task]);
    Array &change = statistics.sum(names.change, {n_document_block, edges.size()}),
          &squared = statistics.sum(names.squared_change, {edges.size()});
    for (std::size_t edge = 0; edge < edges.size(); ++edge) {
      const std::vector<double> ablated = margins_of(sampled_.task, run, losses[edge].nll);
      for (std::size_t i = 0; i < run.count; ++i) {
        const double lost = ablated[i] - margins[i];
        change(block_of(run, i), edge) += lost;
        squared(edge) += lost * lost;
      }
    }
    return sequences.n_column();
  }

  /// The circuits that this pass runs on a task. In the exact pass the one without edges, then
  /// those of all orders one after the other, without the one of all edges, which is the model.
  std::vector<std::vector<unsigned char>> circuits_of(std::size_t task) const {
    std::vector<std::vector<unsigned char>> circuits;
    if (!plans_[task].can_do()) return circuits;
    if (pass_ == exact_pass) {
      const std::vector<Index> first_order = by_size(plans_[task].first_order()),
                               random = random_edges(graph_.n_edge(), task, settings_.seed),
                               steps = circuit_steps(graph_.n_edge());
      circuits.push_back(first_edges(random, 0));
      for (const std::vector<Index>* order :
           {&plans_[task].order(), &first_order, &random, &given_[task]}) {
        if (order->empty()) continue;
        for (std::size_t step = 1; step + 1 < steps.size(); ++step) {
          circuits.push_back(first_edges(*order, steps[step]));
        }
      }
      return circuits;
    }
    for (const Index n : sizes_[task]) circuits.push_back(first_edges(plans_[task].order(), n));
    return circuits;
  }

  std::uint64_t add_circuits(const PairBatch& run,
                             const std::vector<std::vector<unsigned char>>& circuits,
                             DocumentStatistics& statistics) {
    const PathSums names(run.task);
    const SequenceBatch sequences = sequences_of(sampled_.task, run, false);
    const auto margins_in = [&](const std::vector<unsigned char>& circuit) {
      return margins_of(sampled_.task, run,
                        circuit_.run(sequences, replacement_[run.task], circuit).nll);
    };
    if (pass_ > exact_pass) {
      Array& sum = statistics.sum(names.narrowed(pass_ - exact_pass - 1),
                                  {n_document_block, CircuitSize::n_point(graph_.n_edge())});
      for (std::size_t i = 0; i < circuits.size(); ++i) {
        const std::vector<double> margins = margins_in(circuits[i]);
        for (std::size_t pair = 0; pair < run.count; ++pair) {
          sum(block_of(run, pair), i) += margins[pair];
        }
      }
      return sequences.n_column();
    }
    const std::size_t n_step = circuit_steps(graph_.n_edge()).size();
    Array& sum = statistics.sum(names.kept, {n_document_block, n_path_order, n_step});
    const auto add = [&](const std::vector<double>& margins, std::size_t order, std::size_t step) {
      for (std::size_t pair = 0; pair < run.count; ++pair) {
        (order < n_path_order ? sum(block_of(run, pair), order, step)
                              : statistics.sum(names.given, {n_document_block, n_step})(
                                    block_of(run, pair), step)) += margins[pair];
      }
    };
    const std::vector<double> none = margins_in(circuits.front()),
                              all =
                                  margins_of(sampled_.task, run,
                                             forward_.loss(forward_.run(sequences), sequences).nll);
    auto circuit = circuits.begin() + 1;
    for (std::size_t order = 0; order < n_order(run.task); ++order) {
      add(none, order, 0);
      for (std::size_t step = 1; step + 1 < n_step; ++step)
        add(margins_in(*circuit++), order, step);
      add(all, order, n_step - 1);
    }
    return sequences.n_column();
  }

  // Last pass -------------------------------------------------------------------------------------

  /// Every other pair of those ablated exactly.
  SampledTask half_of(std::size_t task, std::size_t parity) const {
    SampledTask half;
    const std::vector<std::size_t> all = sampled(task_batch(task));
    for (std::size_t i = parity; i < all.size(); i += 2) {
      half.number.push_back(all[i]);
      half.task.pairs.push_back(tasks_[task].pairs[all[i]]);
    }
    return half;
  }

  /// Margins of a circuit by pair.
  std::vector<double> margins_in(const SampledTask& half, std::size_t task,
                                 const std::vector<unsigned char>& kept) {
    std::vector<double> margins;
    for (const PairBatch& run :
         pair_batches({half.task}, CircuitForward::columns_at_once(model_.config))) {
      const SequenceBatch sequences = sequences_of(half.task, run, false);
      for (const double margin :
           margins_of(half.task, run, circuit_.run(sequences, replacement_[task], kept).nll)) {
        margins.push_back(margin);
      }
    }
    return margins;
  }

  /// The edges to and from each head and MLP, the last first.
  std::vector<std::vector<Index>> edges_of_nodes() const {
    std::vector<std::vector<Index>> edges(graph_.n_node() + 1);
    for (Index edge = 0; edge < graph_.n_edge(); ++edge) {
      edges[graph_.node_of(edge)].push_back(edge);
      edges[graph_.owner(graph_.port_of(edge))].push_back(edge);
    }
    edges.pop_back();
    edges.erase(edges.begin());
    std::ranges::reverse(edges);
    return edges;
  }

  std::uint64_t prune(std::size_t task, DocumentStatistics& statistics) {
    if (std::isnan(fewest_[task])) return 0;
    const Index n_edge = graph_.n_edge();
    const std::vector<Index>& order = plans_[task].order();
    const SampledTask even = half_of(task, 0), odd = half_of(task, 1);
    std::uint64_t n_check = 0;
    const auto margin_of = [&](const std::vector<Index>& edges) {
      ++n_check;
      const std::vector<double> margins = margins_in(even, task, flags_of(edges, n_edge));
      return std::accumulate(margins.begin(), margins.end(), 0.0);
    };
    const double none = margin_of({}), of_edges = margin_of(order) - none;
    const std::vector<Index> left = pruned_circuit(
        {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(fewest_[task])},
        edges_of_nodes(), margin_of, least_circuit_share * of_edges, none + kept_share * of_edges,
        CounterRandom(settings_.seed, pruning_stream + task));
    const PathSums names(task);
    Array& pruned = statistics.sum(names.pruned, {n_edge});
    for (const Index edge : left) pruned(edge) += 1;
    Array &n_judged = statistics.sum(names.n_judged, {n_document_block}),
          &margin = statistics.sum(names.pruned_margin, {n_document_block, 3});
    const auto block = [&](std::size_t pair) {
      return document_block(odd.number[pair], tasks_[task].pairs.size());
    };
    for (std::size_t pair = 0; pair < odd.number.size(); ++pair) n_judged(block(pair)) += 1;
    std::size_t place = 0;
    for (const std::vector<Index>& edges : {std::vector<Index>(), left, order}) {
      const std::vector<double> margins = margins_in(odd, task, flags_of(edges, n_edge));
      for (std::size_t pair = 0; pair < margins.size(); ++pair) {
        margin(block(pair), place) += margins[pair];
      }
      ++place;
    }
    return n_check * token_count(even.task) + 3 * token_count(odd.task);
  }

  /// Columns of all pairs.
  static std::uint64_t token_count(const Task& task) {
    std::uint64_t n_token = 0;
    for (const PairBatch& run : pair_batches({task})) n_token += run.n_column;
    return n_token;
  }

  const Model& model_;
  const EdgeGraph graph_;
  const AnalysisSettings& settings_;
  const PathsOptions& options_;
  std::vector<Task> tasks_;
  std::vector<PairBatch> batches_;
  std::vector<std::vector<Index>> given_;  // per task, the order of --paths-ordering
  Forward forward_;
  HeadAblation ablation_;
  IntegratedEdges gradient_;
  EdgeAblation exact_;
  CircuitForward circuit_;

  int pass_ = 0;
  std::vector<Matrix> replacement_;        // per task, d_model x node
  std::vector<Vector> mean_token_;         // per task, d_model
  std::vector<PathPlan> plans_;            // per task, from the exact pass on
  std::vector<std::vector<Index>> sizes_;  // per task, numbers of edges to try
  std::vector<double> fewest_;             // per task, edges of the circuit to prune
  SampledTask sampled_;                    // of the batch that is run
};

std::uint64_t memory(const RunShape& run) {
  const ModelConfig& config = run.config;
  const EdgeGraph graph(config);
  const auto& options = run.settings.own<PathsOptions>();
  const std::uint64_t n_column = most_batch_columns(config.n_ctx), n_edge = graph.n_edge(),
                      n_task = run.n_task + (options.n_repeated > 0 ? 1 : 0),
                      n_exact = std::min<std::uint64_t>(options.n_exact, n_edge),
                      n_place = options.ablation != "position_mean"
                                    ? 1
                                    : std::min(config.n_ctx, PathsOptions::most_position),
                      n_circuit = (n_path_order + (options.ordering.empty() ? 0 : 1)) *
                                  circuit_steps(graph.n_edge()).size(),
                      most_circuit_columns = std::max<std::uint64_t>(
                          2 * config.n_ctx, CircuitForward::columns_at_once(config));
  // Of each task: sums of all edges; those of one batch and the resamples of one result; plans and
  // results; replacements.
  const std::uint64_t n_narrowing = n_narrowing_pass * CircuitSize::n_point(graph.n_edge()),
                      by_block = n_document_block * (n_exact + n_circuit + n_narrowing + 8),
                      of_task = 3 * n_edge * (Statistics::added_bytes + sizeof(float)) +
                                n_edge * Statistics::sum_bytes +
                                (by_block + n_place * ((config.n_layer + 2) * config.d_model +
                                                       config.n_layer * config.d_z())) *
                                    Statistics::sum_bytes +
                                12 * n_edge * sizeof(double) +
                                5 * graph.n_node() * graph.n_port() * sizeof(double) +
                                (n_place * graph.n_node() + 1) * config.d_model * sizeof(float);
  const Engines engines = run.settings.engines;
  return Forward::bytes(config, n_column, false) +
         Forward::loss_bytes(config, n_column, run.n_thread) +
         HeadAblation::bytes(config, n_column, run.n_thread, engines) +
         IntegratedEdges::bytes(config, n_column, batch_pairs, run.n_thread, engines) +
         EdgeAblation::bytes(config, n_column, n_exact) +
         CircuitForward::bytes(config, std::min(n_column, most_circuit_columns), run.n_thread) +
         ComputeContext::bytes(config, n_column, run.n_thread, engines) +
         // Circuits, and the losses of exact edges.
         n_circuit * n_edge + n_exact * n_column * sizeof(double) + n_task * of_task +
         run.settings.n_bootstrap * (n_exact + n_circuit) * sizeof(double);
}

}  // namespace

RegisteredAnalysis paths_analysis() {
  return registered<Paths, PathsOptions>(paths_info, paths_figures, paths_presentation(), memory);
}

}  // namespace headscope
