#pragma once

// How a graph runs on one machine: for every node the kernel, why the others were not taken, the order of every value
// and where it lies. Nothing of this is decided while it runs.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"
#include "tessera/kernel_plan/kernel_info.h"
#include "tessera/kernel_plan/kernel_machine.h"
#include "tessera/kernel_plan/order.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// A value in one order, or scratch space of a step.
struct PlanBuffer {
  enum class Place : std::uint8_t {
    arena,
    input,     // the caller's memory
    constant,  // the model's own; converted once if its order is not row_major
  };
  Place place = Place::arena;
  ValueId value = kNoValue;  // kNoValue: scratch
  Order order = Order::row_major;
  std::int64_t bytes = 0;
  int view_of = -1;  // another buffer whose bytes these are
  // A wider buffer in whose pixels this one lies, channels last, and from which of its channels on; a pixel of the
  // widest is then this many elements (0: the buffer is no part).
  int part_of = -1;
  std::int64_t channel = 0, pixel = 0;
  std::int64_t offset = 0;  // in the arena
  int first = 0, last = 0;  // steps between which it lives
};

struct RefusedKernel {
  std::string_view kernel;
  std::string reason;
};
struct SlowerKernel {
  std::string_view kernel;
  Estimate estimate;  // with the conversions it would need
};

struct Step {
  static constexpr int kConversion = -1;

  int node = kConversion;              // in Plan::graph, or a conversion between two orders
  const KernelInfo* kernel = nullptr;  // null for conversions
  Offer offer;
  std::vector<int> inputs;   // buffers; -1 where left out
  std::vector<int> outputs;  // buffers; -1 where nobody asked for it
  int scratch = -1;          // buffer
  bool in_place = false;     // what it would copy lies there already: nothing is run
  Work work;
  std::vector<RefusedKernel> refused;
  std::vector<SlowerKernel> slower;
};

struct PlanOptions {
  Isa isa = Isa::portable;
  int threads = 1;
  KernelMachine machine;
  bool orders = true;                               // false: every value row_major between steps
  bool parts = true;                                // false: Concat and Split copy all they move
  bool exact = false;                               // only kernels that are (KernelInfo::exact), and Problem::exact
  DType weights = DType::float32;                   // Problem::weights
  std::vector<std::string> without = {};            // names of kernels to leave out
  std::map<std::string, std::string> decided = {};  // by node: the only kernel to consider for it
  std::optional<std::int64_t> memory_limit_bytes;   // for the arena; more is an Error with the peak
};

struct TSR_API Plan {
  Graph graph;
  Isa isa = Isa::portable;
  int threads = 1;
  bool exact = false;
  DType weights = DType::float32;
  KernelMachine machine;  // that kernels answered for
  std::vector<PlanBuffer> buffers;
  std::vector<Step> steps;
  std::vector<int> input_buffers;   // in the graph's order
  std::vector<int> output_buffers;  // in the graph's order, row_major
  std::int64_t arena_bytes = 0;
  std::int64_t arena_lower_bound_bytes = 0;
  int worst_step = 0;  // where the arena is fullest

  // "conv1 (Conv)", or "x to channels_last".
  std::string step_name(std::size_t step) const;
};

// An Error if kernels that were chosen for one network are to be taken for another. `digest`: network_digest() of the
// first (graph/digest.h), empty if it is not known.
TSR_API void check_kernels_are_for(const Graph& graph, const std::string& digest);

// What a node computes, with all that is fused into it: "Conv+Binary+Unary".
TSR_API std::string op_text(const Node& node);

// Chooses for every node the kernel with the least estimate among `kernels`, conversions included. The graph's types
// must be static. A node that no kernel takes is an Error with every reason.
TSR_API Plan make_plan(Graph graph, std::span<const KernelInfo* const> kernels, const PlanOptions& options);

}  // namespace tessera
