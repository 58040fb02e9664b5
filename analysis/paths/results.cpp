#include "paths/results.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "paths/circuit_size.hpp"
#include "paths/paths.hpp"
#include "paths/sums.hpp"
#include "task_margins.hpp"

namespace headscope {
namespace {

const char* const warstadt = "Warstadt et al. 2020, BLiMP";
const char* const path_patching =
    "Wang et al. 2022, Interpretability in the Wild; Goldowsky-Dill et al. 2023, Localizing Model "
    "Behavior with Path Patching";
const char* const attribution_patching =
    "Syed et al. 2023, Attribution Patching Outperforms Automated Circuit Discovery";
const char* const integrated_gradients =
    "Hanna et al. 2024, Have Faith in Faithfulness: Going Beyond Circuit Overlap When Finding "
    "Model Mechanisms";
const char* const circuit_discovery =
    "Conmy et al. 2023, Towards Automated Circuit Discovery; Syed et al. 2023";
const char* const by_pairs = "pairs resampled";

}  // namespace

const VariableTable path_variables{
    Declaration::count("n_pair", "task", "pairs run"),
    Declaration::count(
        "n_pair_exact", "task",
        "pairs, spread at random over the task, on which edges are ablated exactly and "
        "circuits are run"),
    {"accuracy", "task", "1", "share of pairs with a margin above 0", warstadt, accuracy_interval},
    {"margin", "task", "nats per pair",
     "mean over pairs of the log probability of the good side minus that of the bad side", warstadt,
     by_pairs},
    Declaration::flag(
        "can_do", "task", {"no", "yes"},
        "whether the model is shown to do the task: the interval of accuracy lies above 0.5 and "
        "the interval of margin above 0; only such tasks have a circuit"),
    Declaration::flag("replaced_by_position", "task", {"no", "yes"},
                      "whether an ablated edge carries the node's mean at the token's position; "
                      "yes with --paths-ablation position_mean if all sides of the task have the "
                      "same length, at most 64 tokens"),
    {"edge_first_order", "task node port", "nats per pair",
     "first-order estimate of how the margin changes when the edge from a node to a port is "
     "ablated: (replacement - output of the node) times the gradient of the margin at the port, "
     "taken through the port's layer norm; summed over tokens, mean over pairs; {replaced}; no "
     "value where there is no edge, as from and to removed heads",
     attribution_patching},
    {"edge_integrated", "task node port", "nats per pair",
     "estimate by integrated gradients of how the margin changes when the edge is ablated: as "
     "edge_first_order, but the gradient is the mean over passes with shares {steps}; in a pass "
     "each token embedding after position 0 is mean + share (embedding - mean), where mean is "
     "taken over the task's tokens after position 0; {replaced}; no value where there is no edge, "
     "as from and to removed heads",
     integrated_gradients},
    {"edge_p", "task node port", "probability",
     "two-sided p-value of edge_integrated: paired t-test over pairs, with a variance that "
     "includes the float32 rounding of the margin",
     "Student 1908"},
    {"edge_q", "task node port", "probability", "edge_p adjusted over all edges of the task",
     "Benjamini & Hochberg 1995"},
    {"edge_node", "task edge", "1",
     "node that the edge comes from, for the edges ablated exactly: those with edge_q < 0.05, "
     "largest |edge_integrated| first; empty where a task has fewer edges"},
    {"edge_port", "task edge", "1", "port that the edge leads to, for the edges of edge_node"},
    {"edge_change", "task edge", "nats per pair",
     "mean margin with only this edge ablated minus the mean margin of the whole model: the port "
     "reads the residual stream with the node's output replaced, and all other ports read it "
     "unchanged; {replaced}",
     path_patching, by_pairs},
    {"edge_change_p", "task edge", "probability",
     "two-sided p-value of edge_change: paired t-test over pairs, with a variance that includes "
     "the float32 rounding of the margin",
     "Student 1908"},
    {"edge_change_q", "task edge", "probability",
     "edge_change_p adjusted over the edges of the task that are ablated exactly",
     "Benjamini & Hochberg 1995"},
    {"edge_rank_correlation", "task method", "1",
     "Spearman's rank correlation between an estimate (edge_first_order or edge_integrated) and "
     "edge_change, over the edges ablated exactly",
     "Syed et al. 2023; Hanna et al. 2024"},
    {"faithfulness", "task order step", "1",
     "share of the margin that the first `step` edges of an order keep when all other edges are "
     "ablated: (margin with these edges - margin with no edge) / (margin with all edges - margin "
     "with no edge); orders: largest |edge_integrated| first, largest |edge_first_order| first, or "
     "seeded random; {replaced}; no value if edge_margin is not above 0, or if the model is not "
     "shown to do the task (can_do)",
     circuit_discovery, by_pairs},
    {"faithfulness_given", "task step", "1",
     "faithfulness of the edges in the order that the file of --paths-ordering gives, largest "
     "|score| first; {replaced}; no value for tasks without such a file, if edge_margin is not "
     "above 0, or if the model is not shown to do the task (can_do)",
     circuit_discovery, by_pairs},
    {"edge_margin", "task", "nats per pair",
     "margin with all edges minus margin with no edge; {replaced}; no value if the model is not "
     "shown to do the task (can_do)",
     circuit_discovery, by_pairs},
    {"circuit_edges_90", "task", "count",
     "smallest number of edges, largest |edge_integrated| first, from which faithfulness stays at "
     "0.9 or more; checked at the steps and at the further numbers that four rounds of search try, "
     "and interpolated between the two around 0.9; "
     "the interval keeps the order of the edges; no value unless the interval of edge_margin lies "
     "above 0",
     circuit_discovery, by_pairs},
    {"circuit_edges_pruned", "task", "count",
     "edges left when the circuit of circuit_edges_90 is pruned on half of the pairs that "
     "--paths-pairs samples, drawn at random: parts of the circuit are dropped if an exact run "
     "then loses at most a hundredth of edge_margin and still keeps 0.9 of edge_margin; pruning "
     "ends when none of ten random parts can be dropped; no value without circuit_edges_90",
     circuit_discovery},
    {"faithfulness_pruned", "task", "1",
     "faithfulness of the pruned circuit (circuit_edges_pruned) on the other half of the sampled "
     "pairs, which pruning has not seen; {replaced}",
     circuit_discovery, by_pairs},
    {"edge_in_circuit", "task node port", "1",
     "1 for the edges of the pruned circuit (circuit_edges_pruned), 0 for other edges; no value "
     "where there is no edge, or without circuit_edges_90"},
    {"composition_correlation", "task kind", "1",
     "Spearman's rank correlation between composition in the weights (circuits/composition) and "
     "|edge_integrated|, over edges from a head to the queries, keys or values of a head in a "
     "later layer, without removed heads. The interval has the spread of the same correlation with "
     "heads relabelled at random within layers. Where the interval contains "
     "composition_correlation_chance, the edges follow the weights no more than those of "
     "relabelled heads do",
     "Elhage et al. 2021; Hanna et al. 2024", "heads relabelled within layers"},
    {"composition_correlation_chance", "task kind", "1",
     "mean of the correlation over random permutations of the heads within each layer, applied to "
     "the weights alone; it differs from 0 where layers differ"},
    {"composition_correlation_p", "task kind", "probability",
     "one-sided p-value of composition_correlation: share of random permutations of the heads "
     "within each layer, applied to the weights alone, whose correlation is at least as large; no "
     "value where no layer has two heads to exchange"},
};

namespace {

class PathsBuilder {
 public:
  PathsBuilder(const Statistics& statistics, const std::vector<Task>& tasks, const EdgeGraph& graph,
               const AnalysisSettings& settings, ResultsGroup& group)
      : tasks_(tasks),
        graph_(graph),
        options_(settings.options<PathsOptions>()),
        edges_(graph.edges_left()),
        steps_(circuit_steps(edges_.size())),
        group_(group) {
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      plans_.emplace_back(statistics, task, graph, settings);
      exact_.push_back(exact_values(statistics, task, plans_[task].exact.size(), steps_.size(),
                                    plans_[task].means.margin.value, settings));
      pruned_.push_back(pruned_values(statistics, task, settings));
      sizes_.emplace_back(statistics, task, edges_.size(), settings);
    }
  }

  void add_dimensions() {
    std::vector<std::string> names, nodes, ports;
    for (const Task& task : tasks_) names.push_back(task.name);
    for (Index node = 0; node < graph_.n_node(); ++node) nodes.push_back(graph_.node_name(node));
    for (Index port = 0; port < graph_.n_port(); ++port) ports.push_back(graph_.port_name(port));
    group_.add_dimension(Dimension::labels("task", names));
    group_.add_dimension(Dimension::labels("node", nodes));
    group_.add_dimension(Dimension::labels("port", ports));
    group_.add_dimension(Dimension::count("edge", n_exact()));
    group_.add_dimension(Dimension::labels("order", {"integrated", "first_order", "random"}));
    group_.add_dimension(Dimension::labels("method", {"first_order", "integrated"}));
    group_.add_dimension(
        Dimension::numbers("step", std::vector<double>(steps_.begin(), steps_.end())));
    group_.add_dimension(Dimension::labels("kind", {"q", "k", "v"}));
  }

  void add_tasks() {
    add("n_pair", plans_, [](const PathPlan& plan) { return plan.means.n_pair; });
    add("n_pair_exact", exact_, &ExactValues::n_pair);
    add("accuracy", plans_, [](const PathPlan& plan) { return plan.means.accuracy; });
    add("margin", plans_, [](const PathPlan& plan) { return plan.means.margin; });
    add("can_do", plans_, [](const PathPlan& plan) { return plan.means.can_do(); });
    add("replaced_by_position", tasks_,
        [&](const Task& task) { return options_.n_position(task) > 1; });
  }

  void add_gradients() {
    const Shape shape{n_task(), graph_.n_node(), graph_.n_port()};
    Array first_order(shape, std::nan("")), integrated = first_order, p = first_order,
                                            q = first_order;
    for (std::size_t task = 0; task < n_task(); ++task) {
      for (Index port = 0; port < graph_.n_port(); ++port) {
        for (Index node = 0; node < graph_.n_read(port); ++node) {
          const Index edge = graph_.edge(node, port);
          first_order(task, node, port) = plans_[task].first_order[edge];
          integrated(task, node, port) = plans_[task].integrated[edge];
          p(task, node, port) = plans_[task].p[edge];
          q(task, node, port) = plans_[task].q[edge];
        }
      }
    }
    add_replaced("edge_first_order", first_order);
    group_.add(replaced("edge_integrated").with("steps", steps_text()), integrated);
    add("edge_p", p);
    add("edge_q", q);
  }

  void add_exact() {
    std::vector<Estimate> change(n_task() * n_exact());
    std::vector<double> p(change.size(), std::nan("")), q = p;
    std::vector<std::string> nodes(change.size()), ports = nodes;
    for (std::size_t task = 0; task < n_task(); ++task) {
      const std::vector<Index>& edges = plans_[task].exact;
      for (std::size_t i = 0; i < exact_[task].change.size(); ++i) {
        const std::size_t place = task * n_exact() + i;
        change[place] = exact_[task].change[i];
        p[place] = exact_[task].p[i];
        q[place] = exact_[task].q[i];
        nodes[place] = graph_.node_name(graph_.node_of(edges[i]));
        ports[place] = graph_.port_name(graph_.port_of(edges[i]));
      }
    }
    add("edge_node", nodes);
    add("edge_port", ports);
    add_replaced("edge_change", change);
    add("edge_change_p", p);
    add_rank_correlation();
    add("edge_change_q", q);
  }

  void add_rank_correlation() {
    Array correlation({n_task(), 2}, std::nan(""));
    for (std::size_t task = 0; task < n_task(); ++task) {
      const PathPlan& plan = plans_[task];
      std::vector<double> exact, first_order, integrated;
      for (std::size_t i = 0; i < exact_[task].change.size(); ++i) {
        exact.push_back(exact_[task].change[i].value);
        first_order.push_back(plan.first_order[plan.exact[i]]);
        integrated.push_back(plan.integrated[plan.exact[i]]);
      }
      correlation(task, 0) = spearman(first_order, exact);
      correlation(task, 1) = spearman(integrated, exact);
    }
    add("edge_rank_correlation", correlation);
  }

  void add_circuits() {
    add_replaced("faithfulness", exact_, &ExactValues::faithfulness);
    if (!options_.ordering.empty()) add_replaced("faithfulness_given", exact_, &ExactValues::given);
    add_replaced("edge_margin", sizes_, &CircuitSize::edge_margin);
    add("circuit_edges_90", sizes_, &CircuitSize::fewest);
    std::vector<double> n_left;
    std::vector<Estimate> faithfulness;
    Array in_circuit({n_task(), graph_.n_node(), graph_.n_port()}, std::nan(""));
    for (std::size_t task = 0; task < n_task(); ++task) {
      const PrunedCircuit& circuit = pruned_[task];
      faithfulness.push_back(circuit.faithfulness);
      n_left.push_back(circuit.kept.empty()
                           ? std::nan("")
                           : std::accumulate(circuit.kept.begin(), circuit.kept.end(), 0.0));
      if (circuit.kept.empty()) continue;
      for (const Index edge : edges_) {
        in_circuit(task, graph_.node_of(edge), graph_.port_of(edge)) = circuit.kept[edge];
      }
    }
    add("circuit_edges_pruned", n_left);
    add_replaced("faithfulness_pruned", faithfulness);
    add("edge_in_circuit", in_circuit);
  }

 private:
  std::size_t n_task() const { return tasks_.size(); }
  std::size_t n_exact() const { return std::min<std::size_t>(options_.n_exact, edges_.size()); }
  void add(const char* name, const auto&... values) { group_.add(path_variables[name], values...); }
  /// A declaration that says what replaces a node's output.
  Declaration replaced(const char* name) const {
    if (options_.ablation == "zero")
      return path_variables[name].with("replaced", "the replacement is zero");
    const std::string mean =
        "the replacement is the node's mean over the tokens of the task's good and bad sides, "
        "without position 0";
    return path_variables[name].with(
        "replaced", options_.ablation == "mean"
                        ? mean
                        : mean +
                              "; on tasks with replaced_by_position the replacement is the node's "
                              "mean at the token's position");
  }
  void add_replaced(const char* name, const auto&... values) {
    group_.add(replaced(name), values...);
  }
  /// `1/5, 2/5, ... 5/5`.
  std::string steps_text() const {
    const std::string n_step = std::to_string(options_.n_step);
    if (options_.n_step == 1) return "1/1";
    return "1/" + n_step + ", ... " + n_step + "/" + n_step;
  }

  const std::vector<Task>& tasks_;
  const EdgeGraph& graph_;
  const PathsOptions& options_;
  std::vector<Index> edges_, steps_;
  std::vector<PathPlan> plans_;
  std::vector<ExactValues> exact_;
  std::vector<CircuitSize> sizes_;
  std::vector<PrunedCircuit> pruned_;
  ResultsGroup& group_;
};

}  // namespace

ResultsGroup paths_results(const Statistics& statistics, const std::vector<Task>& tasks,
                           const EdgeGraph& graph, const AnalysisSettings& settings) {
  ResultsGroup group;
  group.name = "paths";
  PathsBuilder builder(statistics, tasks, graph, settings, group);
  builder.add_dimensions();
  builder.add_tasks();
  builder.add_gradients();
  builder.add_exact();
  builder.add_circuits();
  group.summary = paths_summary(group);
  return group;
}

}  // namespace headscope
