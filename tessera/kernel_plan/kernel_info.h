#pragma once

// What the planner knows of a kernel. Backends own tables of these; the planner depends on none of them.

#include "tessera/core/dtype.h"
#include "tessera/core/element_type.h"
#include "tessera/core/export.h"
#include "tessera/core/isa.h"
#include "tessera/core/refusal.h"
#include "tessera/graph/graph.h"
#include "tessera/kernel_plan/kernel_machine.h"
#include "tessera/kernel_plan/order.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera {

// One node of a graph whose shapes are all known, and where its inputs come from.
struct Problem {
  const Graph& graph;
  const Node& node;
  NodeTypes types;            // static all through
  std::vector<Order> orders;  // of node.inputs, as they are there; row_major for constants and absent ones
  const KernelMachine& machine;
  int threads = 1;
  bool exact = false;              // weights are taken as they are: not even subnormal ones become 0
  DType weights = DType::float32;  // what the weights of convolutions and products were rounded to
  // Elements from one pixel to the next of inputs and outputs that lie in the pixels of a wider value (channels last);
  // 0, as where there is no entry: as many as it has channels. Known when a kernel is made ready, not before.
  std::vector<std::int64_t> input_pixels = {}, output_pixels = {};

  // Input i of the node (not of the op alone); absent ones may not be asked for.
  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNoValue; }
  const TensorType& input(std::size_t i) const { return graph.value(node.inputs[i]).type; }
  const Array* constant(std::size_t i) const { return has(i) ? graph.value(node.inputs[i]).constant.get() : nullptr; }
  // What the op itself makes, before anything fused.
  const TensorType& op_output() const { return types.chained.empty() ? types.outputs.at(0) : types.chained[0]; }
  const TensorType& output(std::size_t i = 0) const { return types.outputs.at(i); }
  // Elements from one pixel to the next, where channels come last.
  std::int64_t input_pixel(std::size_t i) const {
    return i < input_pixels.size() && input_pixels[i] > 0 ? input_pixels[i] : input(i).shape()[1];
  }
  std::int64_t output_pixel(std::size_t i = 0) const {
    return i < output_pixels.size() && output_pixels[i] > 0 ? output_pixels[i] : output(i).shape()[1];
  }
};

// What a kernel would cost. Only good for comparing kernels of one machine.
struct Estimate {
  double seconds = 0;
  std::string_view bound;  // "compute", "memory", "overhead"
};

// A kernel's yes.
struct Offer {
  std::vector<Order> inputs;  // what it reads, one for each input of the node; what differs is converted first
  std::vector<Order> outputs;
  Estimate estimate;
  std::int64_t scratch_bytes = 0;  // beside inputs, outputs and packed weights, for all threads together
  int view_of = -1;                // the output is the bytes of this input: nothing is run
  int may_overwrite = -1;          // the output may lie where this input lay, if nobody needs that any more
  // Inputs (bit i is the i-th) and outputs that, channels last, may lie in the pixels of a wider value: then
  // Problem::input_pixels and output_pixels say how far pixels are apart, and nothing beside them may be written.
  std::uint64_t wide_inputs = 0;
  bool wide_outputs = false;
  // The output's channels are those of the inputs side by side (Concat), or the inputs' those of the outputs (Split),
  // and what lies there already is not copied.
  bool side_by_side = false;

  bool takes_wide(std::size_t i) const { return i < 64 && (wide_inputs >> i & 1) != 0; }
};

using Answer = std::variant<Offer, Refusal>;

// What a kernel's multiply-adds run on, which decides how many of them the machine does in a second.
enum class Arithmetic : std::uint8_t {
  f32,         // float32, whatever is stored
  bf16_pairs,  // products of bfloat16 summed two by two in vectors of float32
  bf16_tiles,  // likewise in tiles (AMX)
};

enum class KernelRole : std::uint8_t {
  computes,
  definition,  // the operator's own plain loops: takes anything, far slower than other kernels
  views,       // its result is the bytes of an input: nothing is run
};

struct KernelInfo {
  // conv2d_f32_6x64_avx512: operator, storage, tile, instruction set. For people, plan files and options: what code
  // decides on are the fields below. Instruction set, arithmetic and weights are of kernels for processors; those of
  // other machines have what they need to know beside this, in tables of their own.
  std::string_view name;
  std::string_view op;  // the operator it is for, as name(Op) says; "*": any
  Isa isa = Isa::portable;
  ElementType type = ElementType::float32;  // what it stores; sums are in float32
  Arithmetic arithmetic = Arithmetic::f32;
  DType weights = DType::float32;  // what it keeps weights as, if that is not `type`
  int m = 0, n = 0;                // tile: rows or pixels, columns or channels; 0: has none
  // The layout of its result, where kernels of one family differ in it; none: the offer alone says it.
  std::optional<Order> result = std::nullopt;
  KernelRole role = KernelRole::computes;
  int row = -1;               // of its family's own table, where it has one that says more
  bool half_vectors = false;  // may compute in vectors of half its instruction set's width
  // How many times as far as sums of the definition's products its results may be off. Above 1 (Winograd's
  // convolutions) the kernel is not exact: it computes with other numbers, and an infinity or NaN spreads to
  // neighbours.
  double rounding = 1;
  bool exact() const { return rounding <= 1; }

  Answer (*consider)(const KernelInfo& kernel, const Problem& problem) = nullptr;
};

// Seconds for so many operations and bytes on all cores of a processor: the larger of both, and a fixed cost for
// starting a step. The problem's threads do not count: the same kernels are to be chosen, and so the same bits to come
// out, for any number of them. `efficiency` is the part of the machine's peak that the kernel's arithmetic reaches.
TSR_API Estimate estimate(const Problem& problem, Isa isa, double flops, double bytes, double efficiency);
// The same for a kernel whose arithmetic need not be float32's.
TSR_API Estimate estimate(const Problem& problem, const KernelInfo& kernel, double flops, double bytes,
                          double efficiency);

// Seconds for giving a value of so many bytes another order, on any machine.
TSR_API Estimate conversion_estimate(const KernelMachine& machine, double value_bytes);

}  // namespace tessera
