#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"

/// Circuits in a file that other tools read: the layout of the Mechanistic Interpretability
/// Benchmark, an EAP-IG graph as JSON.
namespace headscope {

/// `a3.h2` of `L3H2`, `m3` of `MLP3`, `input` of `embed`; `logits` is the same.
std::string exchange_name(const std::string& node);

/// A place where an edge ends: its node, and `<q>`, `<k>`, `<v>` or nothing.
struct EdgeEnd {
  std::string node, input;
};

/// The ends at a port (EdgeGraph::port_name), one for each head that reads by it.
std::vector<EdgeEnd> ends_of(const std::string& port);

/// `input->a0.h1<q>`. @param from  exchange_name of the edge's node.
std::string exchange_edge(const std::string& from, const EdgeEnd& end);

/// A task's graph as JSON: `cfg` (n_layers, n_heads, d_model, parallel_attn_mlp), `nodes` by name
/// (`input`, `a0.h1`, `m0`, `logits`) with `in_graph`, and `edges` by name (`input->a0.h1<q>`,
/// `m0->m1`) with `score`, which is edge_integrated (nats per pair), and `in_graph`. An edge to
/// keys or values that heads share is written for each of these heads. Removed heads have a node
/// and no edges. A node is in the graph if an edge of the circuit begins or ends there.
/// @param results  with the group `paths`.
/// Source: Mueller et al. 2025; Hanna et al. 2024.
std::string circuit_json(const Results& results, std::size_t task);

/// Writes `circuit_TASK.json` for each task whose edges have scores; without a pruned circuit no
/// node or edge is in the graph. Writes nothing without the group `paths` or its variables of
/// edges.
void write_circuits(const Results& results, const std::string& directory);

/// Removes the files that write_circuits wrote into a folder, nothing else.
void remove_circuits(const std::string& directory);

}  // namespace headscope
