#pragma once

// What MLX is asked to compute for a network, as mlx_script() writes it: its primitives, one array out of each.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::apple {

struct MlxArray {
  enum class Place : std::uint8_t { input, weight, computed };
  std::string name;  // of the network's value, where it is one
  Place place = Place::computed;
  std::int64_t elements = 0, bytes = 0;
  int root = -1;  // the array whose bytes these are; itself, unless a view made it
};

struct Primitive {
  enum class Kind : std::uint8_t {
    element_wise,  // mx.compile joins these into one kernel
    view,          // nothing is computed
    kernel,        // always one of its own
  };
  Kind kind = Kind::kernel;
  std::string name;           // "convolution"
  int node = 0;               // of the graph that was lowered
  std::vector<int> inputs{};  // arrays, without numbers
  int output = -1;
  double flops = 0;     // multiplications and additions
  double specials = 0;  // exponentials, tanh and the like
  int launches = 1;
};

struct MlxProgram {
  std::vector<MlxArray> arrays;
  std::vector<Primitive> primitives;  // in an order in which they can run
  std::vector<int> outputs;           // arrays
  std::vector<int> repeats;           // by primitive: steps of the loop that it is in, or 1
  std::vector<std::string> nodes;     // names, by Primitive::node
  std::vector<std::string> ops;       // "Conv", by Primitive::node
};

// `graph` has been through passes for MLX (lower_for_mlx). Operators that MLX code is not written for are one Error
// that lists them.
TSR_API MlxProgram mlx_program(const Graph& graph);

// The passes before it: nothing is fused, liquid cells become loops of arithmetic.
TSR_API Graph lowered_for_mlx(Graph graph);

}  // namespace tessera::apple
