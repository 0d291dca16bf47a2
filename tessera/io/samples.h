#pragma once

// Inputs of a network for many runs, from files or at random.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/tensor_type.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

struct Graph;

// Normal numbers for floating types, 0 and 1 for the others: valid wherever indices are.
TSR_API Array random_array(const TensorType& type, std::uint64_t seed);

// For inputs that no file has.
struct RandomSamples {
  std::int64_t count = 0;  // 0: such an input is an Error
  std::uint64_t seed = 0;
};

// All samples, in the graph's order of inputs: the first extent of each array counts them. An input is a folder of .npy
// files (one sample or several in each, in the order of their names) or of .npz files (all inputs by name), or such a
// file; NAME=PATH says which input it is for.
TSR_API std::vector<Array> read_samples(const Graph& graph, std::span<const std::string> inputs,
                                        const RandomSamples& random = {});

}  // namespace tessera
