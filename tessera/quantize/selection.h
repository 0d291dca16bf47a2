#pragma once

// Which nodes of a network are to compute with bytes, and which values are bytes for that.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// What a node can do with bytes.
enum class ByteRole : std::uint8_t {
  none,
  product,  // Conv, Gemm, MatMul with constant weights
  sum,      // of two values of one shape
  average,  // over whole images
  join,     // Concat
  move,     // elements are moved or chosen: a result has the scale of its operand
};

// A node's role, and where it has none although its operator could have one, why.
struct ByteNode {
  ByteRole role = ByteRole::none;
  std::string reason{};       // of a node that stays as it is
  ValueId source = kNoValue;  // of a move: what it reads
  ValueId result = kNoValue;  // what its bytes are: the node's output, or that of the bounds behind it
};

struct Selection {
  std::vector<ByteNode> nodes;    // one for each node of the graph
  std::vector<bool> bytes;        // one for each value: becomes bytes where it is made
  std::vector<ValueId> scale_of;  // one for each value: whose scale it has, itself but for results of moves
};

// `wanted`: whether a product may compute with bytes; asked with its position. Everything else follows from products:
// sums, averages, joins and moves between them.
Selection select_bytes(const Graph& graph, const std::function<std::optional<std::string>(std::size_t node)>& excluded);

// The axis of a product's weights that counts output channels.
int channel_axis(const Graph& graph, const Node& node);

// Whether a node's operator could be a product over constant weights; the rest says why not.
std::optional<std::string> why_no_product(const Graph& graph, const Node& node);
bool is_product(const Op& op);

}  // namespace tessera
