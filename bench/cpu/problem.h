#pragma once

// Nodes and operands for benchmarks of the CPU's kernels.

#include "tessera/core/array.h"
#include "tessera/core/element_type.h"
#include "tessera/core/shape.h"
#include "tessera/graph/graph.h"
#include "tessera/machine/machine.h"

#include <random>
#include <string>
#include <vector>

namespace tessera::bench {

// The machine's proportions; what is measured does not depend on them.
CpuSpec machine();

// float32 and bfloat16: any numbers in [-1, 1]; integers: any that the type has; bool: false.
Array random_array(ElementType type, const Shape& shape, std::mt19937_64& random);

// A graph, and which of its nodes is to be run.
struct BenchNode {
  std::string name;
  Graph graph;
  std::size_t node = 0;
};

// At least one node, of a size that networks have, for every kernel in the tables: of every operator alone, and those
// of networks whose passes fuse several operators. A kernel that takes none of them is found by the test that runs
// tessera_kernel_bench; a new operator has its line here.
std::vector<BenchNode> bench_nodes();

}  // namespace tessera::bench
