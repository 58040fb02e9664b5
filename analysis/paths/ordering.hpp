#pragma once

#include <string>
#include <vector>

#include "headscope/config.hpp"
#include "headscope/edges.hpp"

/// Circuits of other tools, read as an order of a model's edges.
namespace headscope {

/// The edges of a model in the order of a circuit's file, in the layout of circuit_json: largest
/// |score| first, ties by number. An edge to keys or values that heads share has the largest
/// |score| of its heads. Edges from and to removed heads have no place in the order: the file may
/// have them or lack them. What the file says of nodes and of `in_graph` is not read.
///
/// @throws DataError  if the file is no such file, is of another model (`cfg`), has an edge that
///                    the model lacks, lacks one that the model has, or a score is not finite:
///                    `circuit_t.json:edge m1->a0.h0<q>: expected ..., got ...`.
std::vector<Index> read_edge_order(const std::string& path, const ModelConfig& config);

/// The number of the task that `circuit_TASK.json` is of.
/// @throws OptionError  `--paths-ordering: expected ..., got ...` if there is no such task.
std::size_t task_of_circuit(const std::string& path, const std::vector<std::string>& tasks);

}  // namespace headscope
