#pragma once

// A network with QuantizeLinear and DequantizeLinear around what is to compute with bytes: the standard form, which any
// runtime of ONNX reads.

#include "tessera/graph/graph.h"
#include "tessera/quantize/selection.h"
#include "tessera/quantize/value_range.h"

#include <vector>

namespace tessera {

// `forms`: one for each value that is its own Selection::scale_of and is bytes. `per_channel`: weights have a scale for
// each output channel. Names of values and nodes stay; an output of the network that is bytes is what they stand for.
Graph with_bytes(const Graph& graph, const Selection& selection, const std::vector<ByteForm>& forms, bool per_channel);

}  // namespace tessera
