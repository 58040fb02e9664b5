#pragma once

#include <string>
#include <vector>

/// Names of nodes and edges in files that other tools read: those of EAP-IG graphs.
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

}  // namespace headscope
