#include "paths/results.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headscope/number_text.hpp"
#include "paths/paths.hpp"
#include "paths/sums.hpp"

namespace headscope {
namespace {

const char* const path_patching =
    "Wang et al. 2022, Interpretability in the Wild; Goldowsky-Dill et al. 2023, Localizing Model "
    "Behavior with Path Patching";
const char* const attribution_patching =
    "Syed et al. 2023, Attribution Patching Outperforms Automated Circuit Discovery";
const char* const circuit_discovery =
    "Conmy et al. 2023, Towards Automated Circuit Discovery; Syed et al. 2023";

/// The exact effects of a task's largest edges, and what its circuits keep.
struct ExactValues {
  double n_pair = 0;
  std::vector<Estimate> change;  ///< by edge
  std::vector<double> p, q;
  std::vector<Estimate> faithfulness;  ///< order x step
};

double sum_over_blocks(const Array& values, const Weights& weights) {
  return std::inner_product(values.values.begin(), values.values.end(), weights.begin(), 0.0);
}

/// Sums over the blocks of the values of each block, n of them.
std::vector<double> block_sums(const Array& values, std::size_t n, const Weights& weights) {
  std::vector<double> sums(n, 0);
  for (std::size_t block = 0; block < n_document_block; ++block) {
    if (weights[block] == 0) continue;
    const double* const of_block = values.values.data() + block * n;
    for (std::size_t i = 0; i < n; ++i) sums[i] += weights[block] * of_block[i];
  }
  return sums;
}

ExactValues exact_values(const Statistics& statistics, std::size_t task, std::size_t n_edge,
                         std::size_t n_step, const AnalysisSettings& settings) {
  const PathSums names(task);
  ExactValues values;
  values.faithfulness.resize(n_path_order * n_step);
  if (!statistics.has(names.n_exact)) return values;
  const Array n_pair = statistics.total(names.n_exact);
  const Bootstrap bootstrap =
      Bootstrap::of_documents(n_pair.values, settings.n_bootstrap, settings.seed);
  values.n_pair = sum_over_blocks(n_pair, bootstrap.whole());
  if (n_edge > 0) {
    const Array change = statistics.total(names.change),
                squared = statistics.total(names.squared_change);
    values.change = bootstrap.estimates([&](const Weights& weights) {
      std::vector<double> mean = block_sums(change, n_edge, weights);
      const double n = sum_over_blocks(n_pair, weights);
      for (double& each : mean) each /= n;
      return mean;
    });
    for (std::size_t edge = 0; edge < n_edge; ++edge) {
      values.p.push_back(
          paired_t_p(values.n_pair, values.change[edge].value * values.n_pair, squared(edge)));
    }
    values.q = benjamini_hochberg(values.p);
  }
  if (!statistics.has(names.kept)) return values;
  const Array kept = statistics.total(names.kept);
  values.faithfulness = bootstrap.estimates([&](const Weights& weights) {
    std::vector<double> margins = block_sums(kept, n_path_order * n_step, weights);
    for (std::size_t order = 0; order < n_path_order; ++order) {
      const auto of_order = std::span(margins).subspan(order * n_step, n_step);
      const double none = of_order.front(), all = of_order.back();
      for (double& margin : of_order) {
        margin = all > none ? (margin - none) / (all - none) : std::nan("");
      }
    }
    return margins;
  });
  return values;
}

class PathsBuilder {
 public:
  PathsBuilder(const Statistics& statistics, const std::vector<Task>& tasks, const EdgeGraph& graph,
               const AnalysisSettings& settings, ResultsGroup& group)
      : tasks_(tasks),
        graph_(graph),
        options_(settings.own<PathsOptions>()),
        steps_(circuit_steps(graph.n_edge())),
        group_(group) {
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      plans_.emplace_back(statistics, task, graph, settings);
      exact_.push_back(
          exact_values(statistics, task, plans_[task].exact().size(), steps_.size(), settings));
      sizes_.emplace_back(statistics, task, graph.n_edge());
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
    group_.add_dimension(Dimension::labels("order", {"first_order", "random"}));
    group_.add_dimension(
        Dimension::numbers("step", std::vector<double>(steps_.begin(), steps_.end())));
    group_.add_dimension(Dimension::labels("kind", {"q", "k", "v"}));
    for (const char* unit : {"unit_from", "unit_to"}) {
      group_.add_dimension(Dimension::count(unit, graph_.n_layer() * graph_.n_head()));
    }
  }

  void add_tasks() {
    Array n_pair({n_task()}), n_run({n_task()}), can_do({n_task()});
    std::vector<Estimate> accuracy, margin;
    for (std::size_t task = 0; task < n_task(); ++task) {
      n_pair(task) = plans_[task].n_pair();
      n_run(task) = exact_[task].n_pair;
      can_do(task) = plans_[task].can_do() ? 1 : 0;
      accuracy.push_back(plans_[task].accuracy());
      margin.push_back(plans_[task].margin());
    }
    group_.add(Variable::integer("n_pair", {"task"}, n_pair, "pairs run", "count", own_definition));
    group_.add(Variable::integer(
        "n_pair_exact", {"task"}, n_run,
        "pairs on which edges are ablated exactly and circuits run, spread evenly", "count",
        own_definition));
    const auto add = [&](const char* name, const std::vector<Estimate>& estimates,
                         const char* definition, const char* units) {
      group_.add(Variable::estimated(name, {"task"}, {n_task()}, estimates, "pairs resampled",
                                     definition, units, "Warstadt et al. 2020, BLiMP"));
    };
    add("accuracy", accuracy, "share of pairs with a margin above 0", "1");
    add("margin", margin,
        "mean over pairs of the log probability of the good side minus that of the bad side",
        "nats per pair");
    group_.add(
        Variable::flag("can_do", {"task"}, can_do, {"no", "yes"},
                       "whether the model can do the task: the intervals of accuracy and "
                       "margin lie above one half and 0; only then is its circuit looked for",
                       own_definition));
  }

  void add_first_order() {
    const Shape shape{n_task(), graph_.n_node(), graph_.n_port()};
    Array effect(shape, std::nan("")), p = effect, q = effect;
    for (std::size_t task = 0; task < n_task(); ++task) {
      for (Index port = 0; port < graph_.n_port(); ++port) {
        for (Index node = 0; node < graph_.n_read(port); ++node) {
          const Index edge = graph_.edge(node, port);
          effect(task, node, port) = plans_[task].first_order()[edge];
          p(task, node, port) = plans_[task].p()[edge];
          q(task, node, port) = plans_[task].q()[edge];
        }
      }
    }
    const std::vector<std::string> dimensions{"task", "node", "port"};
    group_.add(Variable::real(
        "edge_first_order", dimensions, effect,
        "first-order effect on the margin of ablating the edge from a node to a port: mean over "
        "pairs of the sum over tokens of (what replaces the node's output - the output) times the "
        "gradient of the margin by what the port reads, through the port's layer norm; " +
            replaced() + "; no value where no edge runs",
        "nats per pair", attribution_patching));
    group_.add(
        Variable::real("edge_p", dimensions, p,
                       "two-sided p-value of edge_first_order, by a paired t-test over pairs",
                       "probability", "Student 1908"));
    group_.add(Variable::real("edge_q", dimensions, q, "edge_p adjusted over all edges of the task",
                              "probability", "Benjamini & Hochberg 1995"));
  }

  void add_heads() {
    const Index n_head = graph_.n_head(), n_unit = graph_.n_layer() * n_head;
    Array effect({n_task(), n_unit, n_unit}, std::nan(""));
    for (std::size_t task = 0; task < n_task(); ++task) {
      if (!plans_[task].can_do()) continue;
      for (Index edge = 0; edge < graph_.n_edge(); ++edge) {
        const PathNode from = graph_.node(graph_.node_of(edge));
        const PathPort to = graph_.port(graph_.port_of(edge));
        if (from.kind != PathNode::Kind::head || to.kind >= PathPort::Kind::mlp) continue;
        if (!(plans_[task].q()[edge] < significant_edge_q)) continue;
        double& largest =
            effect(task, from.layer * n_head + from.head, to.layer * n_head + to.head);
        const double value = plans_[task].first_order()[edge];
        if (!(std::abs(largest) >= std::abs(value))) largest = value;
      }
    }
    group_.add(Variable::real(
        "head_edge", {"task", "unit_from", "unit_to"}, effect,
        "edge_first_order from a head to the queries, keys or values of another, whichever is "
        "largest of those with edge_q < 0.05; unit is layer * n_head + head; no value without one, "
        "or if the model cannot do the task",
        "nats per pair", attribution_patching));
  }

  void add_exact() {
    const Shape shape{n_task(), n_exact()};
    std::vector<Estimate> change(n_task() * n_exact());
    Array p(shape, std::nan("")), q = p;
    std::vector<std::string> nodes(change.size()), ports(change.size());
    for (std::size_t task = 0; task < n_task(); ++task) {
      const std::vector<Index>& edges = plans_[task].exact();
      for (std::size_t i = 0; i < exact_[task].change.size(); ++i) {
        const std::size_t place = task * n_exact() + i;
        change[place] = exact_[task].change[i];
        p(task, i) = exact_[task].p[i];
        q(task, i) = exact_[task].q[i];
        nodes[place] = graph_.node_name(graph_.node_of(edges[i]));
        ports[place] = graph_.port_name(graph_.port_of(edges[i]));
      }
    }
    const std::vector<std::string> dimensions{"task", "edge"};
    group_.add(Variable::strings("edge_node", dimensions, nodes,
                                 "node that the edge runs from; edges with edge_q < 0.05, largest "
                                 "|edge_first_order| first; empty where there are fewer",
                                 own_definition));
    group_.add(Variable::strings("edge_port", dimensions, ports, "port that the edge runs to",
                                 own_definition));
    group_.add(Variable::estimated(
        "edge_change", dimensions, shape, change, "pairs resampled",
        "mean margin with this edge alone ablated minus that of the whole model: the port reads "
        "the residual stream with the node's output replaced, all else flows on; " +
            replaced(),
        "nats per pair", path_patching));
    group_.add(Variable::real("edge_change_p", dimensions, p,
                              "two-sided p-value of edge_change, by a paired t-test over pairs",
                              "probability", "Student 1908"));
    group_.add(Variable::real("edge_change_q", dimensions, q,
                              "edge_change_p adjusted over the task's edges ablated exactly",
                              "probability", "Benjamini & Hochberg 1995"));
  }

  void add_circuits() {
    std::vector<Estimate> faithfulness;
    Array fewest({n_task()}, std::nan(""));
    for (std::size_t task = 0; task < n_task(); ++task) {
      faithfulness.insert(faithfulness.end(), exact_[task].faithfulness.begin(),
                          exact_[task].faithfulness.end());
      if (sizes_[task].is_known()) fewest(task) = static_cast<double>(sizes_[task].fewest());
    }
    group_.add(Variable::estimated(
        "faithfulness", {"task", "order", "step"}, {n_task(), n_path_order, steps_.size()},
        faithfulness, "pairs resampled",
        "(margin with the first edges of an order kept and all others ablated - margin with none "
        "kept) / (margin with all - margin with none); edges by |edge_first_order|, largest first, "
        "or in seeded random order; step is the number of edges kept; " +
            replaced() + "; no value if the model cannot do the task",
        "1", circuit_discovery));
    group_.add(Variable::real(
        "circuit_edges_90", {"task"}, fewest,
        "fewest edges, the largest by |edge_first_order|, that keep 0.9 of the margin; found "
        "between the steps of faithfulness by bisection; no value if the model cannot do the task",
        "count", circuit_discovery));
  }

 private:
  std::size_t n_task() const { return tasks_.size(); }
  std::size_t n_exact() const { return std::min<std::size_t>(options_.n_exact, graph_.n_edge()); }
  std::string replaced() const {
    return options_.ablation == "zero"
               ? "replaced by zero"
               : "replaced by the node's mean over the tokens of the task's good and bad sides, "
                 "position 0 left out";
  }

  const std::vector<Task>& tasks_;
  const EdgeGraph& graph_;
  const PathsOptions& options_;
  std::vector<Index> steps_;
  std::vector<PathPlan> plans_;
  std::vector<ExactValues> exact_;
  std::vector<CircuitSize> sizes_;
  ResultsGroup& group_;
};

}  // namespace

std::vector<CircuitEdge> circuit_of(const ResultsGroup& group, std::size_t task) {
  std::vector<CircuitEdge> edges;
  if (group.variable("can_do").values(task) == 0) return edges;
  const double least = least_circuit_share * group.variable("margin").values(task);
  const Array change = group.variable("edge_change").values.part(task),
              q = group.variable("edge_change_q").values.part(task);
  const auto place_of = [&](const char* variable, const char* dimension, std::size_t i) {
    const std::vector<std::string>& labels = group.dimensions.at(dimension).text;
    const std::string& label = group.variable(variable).text[task * change.size() + i];
    return static_cast<std::size_t>(std::ranges::find(labels, label) - labels.begin());
  };
  for (std::size_t i = 0; i < change.size(); ++i) {
    if (!(q(i) < significant_edge_q) || !(std::abs(change(i)) >= least)) continue;
    edges.push_back(
        {place_of("edge_node", "node", i), place_of("edge_port", "port", i), change(i)});
  }
  std::ranges::stable_sort(edges, std::greater(),
                           [](const CircuitEdge& edge) { return std::abs(edge.change); });
  return edges;
}

std::string edge_text(const std::string& node, const std::string& port) {
  const std::size_t dot = port.rfind('.');
  const std::string to = node + " → " + port.substr(0, dot);
  if (dot == std::string::npos) return to;
  const char kind = port[dot + 1];
  return to + (kind == 'q' ? " by queries" : kind == 'k' ? " by keys" : " by values");
}

std::string strongest_path(const ResultsGroup& group, std::size_t task) {
  const std::vector<std::string>&nodes = group.dimensions.at("node").text,
        &ports = group.dimensions.at("port").text;
  const std::vector<CircuitEdge> edges = circuit_of(group, task);
  auto strongest = std::ranges::find_if(edges, [&](const CircuitEdge& edge) {
    return nodes[edge.node].starts_with('L') && ports[edge.port].find('.') != std::string::npos;
  });
  if (strongest == edges.end()) strongest = edges.begin();
  if (strongest == edges.end()) return "";
  return edge_text(nodes[strongest->node], ports[strongest->port]);
}

ResultsGroup paths_results(const Statistics& statistics, const std::vector<Task>& tasks,
                           const EdgeGraph& graph, const AnalysisSettings& settings) {
  ResultsGroup group;
  group.name = "paths";
  group.title = "Which heads feed which";
  PathsBuilder builder(statistics, tasks, graph, settings, group);
  builder.add_dimensions();
  builder.add_tasks();
  builder.add_first_order();
  builder.add_heads();
  builder.add_exact();
  builder.add_circuits();
  group.summary = paths_summary(group);
  return group;
}

}  // namespace headscope
