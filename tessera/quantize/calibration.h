#pragma once

// Ranges of a network's values, from running it over samples.

#include "tessera/core/array.h"
#include "tessera/graph/graph.h"
#include "tessera/quantize/quantize.h"
#include "tessera/quantize/value_range.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// Runs a network and hands over each value that it makes, and its inputs, by name.
using Observe =
    std::function<void(const std::vector<Array>& inputs, const std::function<void(const std::string&, const Array&)>&)>;

// The range of each value that `wanted` says (one for each value of the graph). A value that is not finite, or that no
// sample reaches, is an Error that names it.
std::vector<ValueRange> calibrated_ranges(const Graph& graph, const std::vector<bool>& wanted,
                                          std::span<const std::vector<Array>> samples, const Observe& observe,
                                          const QuantizeOptions& options);

}  // namespace tessera
