#pragma once

// A network as a list of operators that the card has. On the card every value is a matrix: a row for each pixel of each
// image, a column for each channel, as conv2d hands it on. So a value of shape N C ... of the graph has N x (...) rows
// and C columns there, and what only changes the extents behind C changes nothing. Tokens, N T C, have C columns as
// well: which dimension of a value the columns are is said for each that is not N C ..., and what turns an image into
// tokens or back changes nothing either.
//
// Fused are an activation into the convolution before it, one into element-wise arithmetic before it, and what only
// moves elements into one move.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/graph.h"
#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tessera::tensix {

struct HostLayer {
  std::size_t node = 0;  // in the graph: what the card has no operator for

  static const CardOp* op() { return nullptr; }
};

struct LoweredNode {
  std::string name;              // of the graph's node
  std::string op;                // "conv2d", "max_pool2d", "add": TTNN's name
  CardLayer layer;               // with the operator's row
  std::vector<ValueId> inputs;   // that are computed
  std::vector<ValueId> outputs;  // that somebody asked for: at least one
};

// How the host hands over an image: padded, by_h x by_w pixels side by side in the channels of one (fold_input.h).
struct InputFold {
  std::int64_t batch = 1, height = 0, width = 0;  // of the folded image
  std::int64_t channels = 0;                      // of the image itself
  std::int64_t by_h = 1, by_w = 1, top = 0, left = 0;

  Shape rows() const { return Shape{1, 1, batch * height * width, channels * by_h * by_w}; }
};

struct TSR_API LoweredGraph {
  Graph graph;  // after its passes; no two values have one name, nor two nodes
  std::vector<LoweredNode> nodes;
  std::map<ValueId, std::int64_t> pixels;  // of values whose columns are flattened images
  std::map<ValueId, InputFold> folds;      // inputs that the host folds
  std::map<ValueId, int> columns;          // the dimension that a value's columns are, where it is not 1

  int columns_of(ValueId id) const;
  // The matrix that a value is on the card; empty where it cannot be there.
  Extent2d matrix(ValueId id) const;
};

struct LowerOptions {
  bool host_fallback = false;  // what the card cannot do becomes a HostLayer instead of an Error
};

// Runs the passes that the card has a use for. Shapes must be known. A node without an operator on the card is an Error
// that names it and says what would do.
TSR_API LoweredGraph lower(Graph graph, const LowerOptions& options = {});

// Values of the graph as matrices of the card, and back. `columns`: the dimension that they are.
TSR_API std::vector<float> rows_from_array(const Array& x, int columns = 1);
TSR_API Array array_from_rows(std::span<const float> rows, const Shape& shape, std::int64_t pixels = 1,
                              int columns = 1);

}  // namespace tessera::tensix
