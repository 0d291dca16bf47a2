#pragma once

// Running a graph by the references of its operators. Constant folding, bodies of loops and the ref backend all come
// here.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/graph.h"

#include <functional>
#include <span>
#include <vector>

namespace tessera {

// The outputs for these inputs, in the graph's order. `observer`, if given, sees each node and its outputs (null where
// nobody asked for one). Values are freed after their last use. A fault names the node it came from.
TSR_API std::vector<Array> evaluate(
    const Graph& graph, const std::vector<Array>& inputs,
    const std::function<void(const Node&, const std::vector<const Array*>&)>& observer = {});

// Refuses an array that is not what input i of the graph takes, by type, rank and the extents that are known.
TSR_API void check_input(const Graph& graph, std::size_t i, const Array& given);

// The outputs of one node with all that is fused into it; operands as in Node::inputs, null where left out.
TSR_API std::vector<Array> evaluate(const Node& node, std::span<const Array* const> operands);

}  // namespace tessera
