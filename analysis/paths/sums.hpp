#pragma once

#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "headscope/edges.hpp"
#include "significance.hpp"
#include "task_margins.hpp"

namespace headscope {

/// Passes that narrow down how few edges do a task.
inline constexpr int n_narrowing_pass = 4;
inline constexpr std::size_t n_path_order = 3;  ///< integrated, first_order, random

/// Names of the sums of a task, by its number.
struct PathSums : MarginSums {
  using MarginSums::MarginSums;

  // Of the first pass, over the tokens of both sides after position 0. Place: the position with
  // means by position, position 0 included; else one for all.
  std::string embed = name("embed");            ///< place x d_model
  std::string token = name("token");            ///< d_model, token embeddings
  std::string z = name("z");                    ///< place x layer x d_z
  std::string mlp = name("mlp");                ///< place x layer x d_model, without b_out
  std::string n_token = name("n_token");        ///< 1
  std::string n_at_place = name("n_at_place");  ///< place, tokens
  // Of the second pass, as those of MarginSums; block: document_block of the pair.
  std::string first_order = name("first_order"),
              integrated = name("integrated");                  ///< edge, nats
  std::string squared_integrated = name("squared_integrated");  ///< edge, nats squared
  // Of the third pass, over the pairs ablated exactly.
  std::string n_exact = name("n_exact");                ///< block, pairs
  std::string change = name("change");                  ///< block x exact edge, nats
  std::string squared_change = name("squared_change");  ///< exact edge
  std::string kept = name("kept");    ///< block x order x step, margins of circuits, nats
  std::string given = name("given");  ///< block x step, the same for the order of --paths-ordering
  /// Of a narrowing pass: block x point, margins of circuits, nats.
  std::string narrowed(int pass) const { return name("narrowed " + std::to_string(pass)); }
  // Of the pruning pass.
  std::string pruned = name("pruned");      ///< edge, 1 for those left
  std::string n_judged = name("n_judged");  ///< block, pairs that judge
  std::string pruned_margin =
      name("pruned_margin");  ///< block x {no edge, those left, all}, margins of these pairs, nats
};

/// What the sums of a task's earlier passes say. The same for all shards.
struct PathPlan {
  TaskMeans means;
  /// By edge: means over pairs, nats; two-sided p of `integrated`; q over the task's edges. NaN of
  /// removed heads, whose edges are in no order.
  std::vector<double> first_order, integrated, p, q;
  std::vector<Index> order;  ///< edges largest in |integrated| first; ties by number
  std::vector<Index> exact;  ///< the edges that are ablated exactly

  /// @param statistics  all passes so far.
  PathPlan(const Statistics& statistics, std::size_t task, const EdgeGraph& graph,
           const AnalysisSettings& settings);
};

/// Numbers of edges kept: 0, 1, 2, 4, ... all.
std::vector<Index> circuit_steps(Index n_edge);

/// Edges largest in size first; ties by number.
/// @param edges    ascending.
/// @param effects  by edge.
std::vector<Index> by_size(std::vector<Index> edges, const std::vector<double>& effects);

/// Edges in seeded random order.
std::vector<Index> random_edges(const std::vector<Index>& edges, std::size_t task,
                                std::uint64_t seed);

/// The exact effects of a task's largest edges, and what its circuits keep.
struct ExactValues {
  double n_pair = 0;
  std::vector<Estimate> change;        ///< by edge, nats per pair
  std::vector<double> p, q;            ///< by edge
  std::vector<Estimate> faithfulness;  ///< order x step
  std::vector<Estimate> given;         ///< step, by the order of --paths-ordering
};

/// @param statistics  of all passes.
/// @param n_edge  number of edges ablated exactly.
/// @param n_step  number of circuits tried, by number of edges.
/// @param margin  mean over the task's pairs, nats.
ExactValues exact_values(const Statistics& statistics, std::size_t task, std::size_t n_edge,
                         std::size_t n_step, double margin, const AnalysisSettings& settings);

/// What pruning left of a task's circuit.
struct PrunedCircuit {
  std::vector<double> kept;  ///< by edge, 1 for those left; empty without a circuit
  Estimate faithfulness;     ///< on the pairs that pruning has not seen
};

PrunedCircuit pruned_values(const Statistics& statistics, std::size_t task,
                            const AnalysisSettings& settings);

}  // namespace headscope
