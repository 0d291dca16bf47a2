// Products of one to four rows: dense layers of small batches, and convolutions of single pixels (squeeze and excite).

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/epilogue.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/gemv/gemv_arguments.h"

#include <fmt/format.h>

#include <memory>

namespace tessera::cuda {
namespace {

struct Read {
  GemvArguments arguments{};
  int residual = -1;
};

std::variant<Read, Refusal> read(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse_types(problem, kernel.type)) return *refusal;
  if (!problem.constant(1)) return Refusal{"weights are no constant"};
  const bool has_bias = problem.node.op_inputs() > 2 && problem.has(2);
  if (has_bias && !problem.constant(2)) return Refusal{"the bias is no constant"};
  const Shape x = problem.input(0).shape(), y = problem.op_output().shape();
  if (const auto* gemm = std::get_if<Gemm>(&problem.node.op)) {
    if (gemm->transpose_a) return Refusal{"the first operand is transposed"};
    if (has_bias && problem.input(2).shape().volume() != y[1]) return Refusal{"the sum is not one for each column"};
  } else {
    const auto& conv = std::get<Conv>(problem.node.op);
    const Shape w = problem.input(1).shape();
    if (x.rank() != 4 || x[2] * x[3] != 1 || w[2] * w[3] != 1 || y.volume() != y[0] * y[1] || conv.groups != 1)
      return Refusal{"takes single pixels"};
  }
  if (x[0] < 1 || x[0] > kGemvRows) return Refusal{fmt::format("{} rows, takes 1 to {}", x[0], kGemvRows)};
  if (const int pack = pack_elements(kernel.type); x[1] % pack != 0 || x[1] == 0)
    return Refusal{fmt::format("a depth of {} is no multiple of {}", x[1], pack)};
  const auto answer = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  const auto& epilogue = std::get<Epilogue>(answer);
  if (epilogue.pool != 1) return Refusal{"a pool is fused"};
  Read out;
  out.arguments = {.rows = static_cast<std::int32_t>(x[0]),
                   .depth = static_cast<std::int32_t>(x[1]),
                   .columns = static_cast<std::int32_t>(y[1]),
                   .activation = epilogue.activation};
  out.residual = epilogue.residual;
  return out;
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const auto answer = read(kernel, problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  const auto& [a, residual] = std::get<Read>(answer);
  const Order order = problem.output().rank() == 4 ? Order::channels_last : Order::row_major;
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = order;
  if (residual >= 0) offer.inputs[static_cast<std::size_t>(residual)] = order;
  offer.outputs = {order};
  offer.estimate = streaming_estimate(problem);
  // A warp goes through the depth in turns of 4 loads; few columns leave the rest of the device idle.
  const double turns = static_cast<double>(a.depth) / (32.0 * pack_elements(kernel.type) * 4);
  offer.estimate.seconds += turns * 0.7e-6 * a.rows / (a.rows + 1.0);
  return offer;
}

// Weights as column, depth.
std::vector<std::byte> packed(const Problem& problem, ElementType type, const Array& array) {
  std::vector<float> w = floats_of(array);
  const auto* gemm = std::get_if<Gemm>(&problem.node.op);
  if (gemm == nullptr) return rounded_to(type, w);
  for (float& value : w) value *= gemm->alpha;
  if (gemm->transpose_b) return rounded_to(type, w);
  const std::int64_t depth = array.shape()[0], columns = array.shape()[1];
  std::vector<float> out(w.size());
  constexpr std::int64_t kTile = 32;
  for (std::int64_t r0 = 0; r0 < depth; r0 += kTile)
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = r0; r < std::min(depth, r0 + kTile); ++r)
        out[static_cast<std::size_t>(c * depth + r)] = w[static_cast<std::size_t>(r * columns + c)];
  return rounded_to(type, out);
}

Launch prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
               const StepAddresses& at) {
  const auto answer = read(kernel, problem);
  const auto& [arguments, residual] = std::get<Read>(answer);
  const auto weights = device.weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                                          fmt::format("gemv {} {}", name(kernel.type), name(problem.node.op)),
                                          [&](const Array& array) { return packed(problem, kernel.type, array); });
  std::vector<float> bias(static_cast<std::size_t>(arguments.columns));
  if (problem.node.op_inputs() > 2 && problem.has(2)) {
    bias = floats_of(*problem.constant(2));
    if (const auto* gemm = std::get_if<Gemm>(&problem.node.op))
      for (float& value : bias) value *= gemm->beta;
  }
  const auto biases =
      std::make_shared<const Memory>(device.library.context(), std::as_bytes(std::span<const float>(bias)));
  const void* more = residual >= 0 ? at.input(static_cast<std::size_t>(residual)) : nullptr;
  const Launch launch = launch_of(
      device.library.function(Binary::gemv, fmt::format("gemv_{}_{}", short_name(kernel.type), arguments.rows)),
      {.blocks = blocks_for(arguments.columns, kGemvWarps), .threads = kGemvWarps * 32, .early_start = true},
      at.input(0), static_cast<const void*>(weights->data()), static_cast<const void*>(biases->data()), more,
      at.outputs[0], arguments);
  return [launch, weights, biases](const Stream& stream) { launch(stream); };
}

}  // namespace

std::vector<CudaKernel> gemv_kernels() {
  struct Row {
    std::string_view name;
    ElementType type;
  };
  std::vector<CudaKernel> out;
  for (const Row& row : std::initializer_list<Row>{{"gemv_f16", ElementType::float16},
                                                   {"gemv_bf16", ElementType::bfloat16},
                                                   {"gemv_f32", ElementType::float32}})
    for (const std::string_view op : {Gemm::kName, Conv::kName})
      out.push_back({.info = {.name = row.name, .op = op, .type = row.type, .consider = consider}, .prepare = prepare});
  return out;
}

}  // namespace tessera::cuda
