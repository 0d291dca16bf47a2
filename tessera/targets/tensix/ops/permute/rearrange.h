#pragma once

// Transposes, reshapes and their kin in networks: elements that go elsewhere and stay what they are. Several in a row
// are one move, and many are none: an image and its tokens are the same matrix on the card.

#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/graph/graph.h"
#include "tessera/targets/tensix/ops/card_layer.h"
#include "tessera/targets/tensix/ops/lowering.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::tensix {

// The elements of the input's matrix, row by row, as a tensor of more dimensions; in another order they are the
// result's.
struct RearrangeLayer {
  std::vector<std::int64_t> dims, order;
  std::int64_t images = 1;  // of the batch: whole ones of dims[0], if that stays first

  bool keeps_order() const;
  const CardOp* op() const;
};

// Where the elements of a value come from that are all those of another one.
class TSR_API ElementOrder {
 public:
  explicit ElementOrder(const Shape& shape);

  // Whether it could be followed; if not, nothing has changed.
  bool reshape(const Shape& to);
  bool transpose(const std::vector<std::int64_t>& perm);

  Shape shape() const;
  // What brings the matrix of the first value to that of this one, the dimensions that their columns are given; none:
  // it cannot be said in dimensions. A layer of one dimension keeps the matrix as it is, but for the length of rows.
  std::optional<RearrangeLayer> layer(int columns_before, int columns_after) const;

 private:
  struct Axis {
    std::int64_t size, stride;  // in elements of the first value
  };
  std::vector<Axis> flat() const;

  Shape from_;
  std::vector<std::vector<Axis>> dims_;  // outermost first
};

// A value with another dimension as columns.
TSR_API CardLayer turned(const Shape& shape, int from, int to);

// A node that only moves elements, with those behind it that do as well.
std::optional<Lowered> lower_rearrangement(const Node& node, Lowering& graph);

}  // namespace tessera::tensix
