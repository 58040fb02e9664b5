#pragma once

#include <optional>

#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"

namespace headscope {

/// A task's circuit as a graph of its heads; nothing where no edge between heads matters.
/// @param group  `paths`.
/// @param types  of the heads, for their colours.
std::optional<Figure> circuit_figure(const ResultsGroup& group, std::size_t task,
                                     const std::optional<HeadTypes>& types);

}  // namespace headscope
