#pragma once

// What an operator's row asks of a graph when a node of it becomes an operator of the card.

#include "tessera/core/array.h"
#include "tessera/core/refusal.h"
#include "tessera/graph/graph.h"
#include "tessera/targets/tensix/ops/card_layer.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace tessera::tensix {

// One layer; or one for each result of the node, all of its first input; or why it has no operator on the card.
using Lowered = std::variant<CardLayer, std::vector<CardLayer>, Refusal>;

class Lowering {
 public:
  virtual ~Lowering() = default;

  virtual const Value& value(ValueId id) const = 0;
  // Of a value whose columns are flattened images: their pixels.
  virtual std::optional<std::int64_t> pixels(ValueId id) const = 0;
  virtual void set_pixels(ValueId id, std::int64_t pixels) = 0;
  // The function that alone reads the node's result, which the operator works out on the way. `by_name`: it is given by
  // its name, without parameters.
  virtual std::optional<VectorFunction> take_activation(const Node& node, bool by_name) = 0;

  // The dimension of a value that the card's columns are: 1 unless it was set.
  virtual int columns(ValueId id) const = 0;
  virtual void set_columns(ValueId id, int dim) = 0;
  // The value with these columns: itself, or what a move before the node makes of it.
  virtual ValueId with_columns(ValueId id, int dim) = 0;
  // What the node's layer reads, if not the node's own inputs; constants are left out.
  virtual void read(std::vector<ValueId> inputs) = 0;
  // The nodes that read a value.
  virtual std::vector<const Node*> readers(ValueId id) const = 0;
  // The node that alone reads a value; null: there are several, or it is an output of the network.
  virtual const Node* only_reader(ValueId id) const = 0;
  // The layer does the work of the reader of its result, too: its results are the reader's.
  virtual void take(const Node& reader) = 0;
  virtual ValueId result() const = 0;  // of the layer, as far as it has taken others in

  Shape shape(ValueId id) const { return value(id).type.shape(); }
  // As `axis` counts: from the end where it is negative.
  int dim(ValueId id, std::int64_t axis) const {
    return static_cast<int>(axis < 0 ? axis + value(id).type.rank() : axis);
  }
  bool is_constant(ValueId id) const { return value(id).constant != nullptr; }
  Constant constant(const Node& node, std::size_t i) const {
    return i < node.inputs.size() && node.inputs[i] != kNoValue ? value(node.inputs[i]).constant : nullptr;
  }
};

// Whether a value can be on the card at all: float32, with a batch and channels, and not empty.
bool fits_card(ElementType type, const Shape& shape);

// The matrix that a value of the graph is on the card: a row for each pixel of each image, a column for each channel.
std::int64_t card_rows(const Shape& shape);

}  // namespace tessera::tensix
