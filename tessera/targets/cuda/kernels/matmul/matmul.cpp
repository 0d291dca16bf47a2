// Products of two values: MatMul with its batches, Gemm with either operand transposed. Operands may be constants too.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/epilogue.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/matmul/matmul_arguments.h"
#include "tessera/targets/cuda/kernels/strides.h"

#include <fmt/format.h>

#include <list>
#include <string>
#include <variant>

namespace tessera::cuda {
namespace {

struct Read {
  MatmulArguments arguments{};
  std::int64_t batch = 1;
  int residual = -1;
  bool sum = false;  // a third operand of Gemm
};

std::variant<Read, Refusal> read_gemm(const Problem& problem, const Gemm& op) {
  const Shape a = problem.input(0).shape(), b = problem.input(1).shape(), y = problem.op_output().shape();
  Read out;
  MatmulArguments& args = out.arguments;
  args.rows = static_cast<std::int32_t>(y[0]);
  args.columns = static_cast<std::int32_t>(y[1]);
  args.depth = static_cast<std::int32_t>(a[op.transpose_a ? 0 : 1]);
  args.a_row = op.transpose_a ? 1 : a[1], args.a_depth = op.transpose_a ? a[1] : 1;
  args.b_depth = op.transpose_b ? 1 : b[1], args.b_column = op.transpose_b ? b[1] : 1;
  args.alpha = op.alpha, args.beta = op.beta;
  if (problem.node.op_inputs() > 2 && problem.has(2)) {
    const Shape c = problem.input(2).shape();
    out.sum = true;
    args.c_column = c.rank() >= 1 && c[c.rank() - 1] != 1 ? 1 : 0;
    args.c_row = c.rank() == 2 && c[0] != 1 ? c[1] : 0;
  }
  return out;
}

std::variant<Read, Refusal> read_matmul(const Problem& problem) {
  Shape a = problem.input(0).shape(), b = problem.input(1).shape();
  if (a.rank() < 2 || b.rank() < 2) return Refusal{"an operand is a list"};
  const Shape y = problem.op_output().shape();
  Read out;
  MatmulArguments& args = out.arguments;
  args.rows = static_cast<std::int32_t>(a[a.rank() - 2]);
  args.depth = static_cast<std::int32_t>(a[a.rank() - 1]);
  args.columns = static_cast<std::int32_t>(b[b.rank() - 1]);
  args.a_row = args.depth, args.a_depth = 1;
  args.b_depth = args.columns, args.b_column = 1;
  args.alpha = args.beta = 1;
  // Steps of both operands along the dimensions that the result has before its last two.
  std::vector<Dimension> batch;
  const auto stride = [&](const Shape& x, int d) {
    const int own = d - (y.rank() - x.rank());
    if (own < 0 || x[own] == 1) return std::int64_t{0};
    std::int64_t step = 1;
    for (int i = own + 1; i < x.rank(); ++i) step *= x[i];
    return step;
  };
  for (int d = 0; d + 2 < y.rank(); ++d) {
    batch.push_back({y[d], {stride(a, d), stride(b, d)}});
    out.batch *= y[d];
  }
  if (!batch.empty()) batch = collapsed(batch);
  if (batch.size() > kMostBatchDimensions) return Refusal{"more dimensions of a batch than four"};
  args.batch_rank = static_cast<std::int32_t>(batch.size());
  for (std::size_t d = 0; d < batch.size(); ++d) {
    args.batch[d] = static_cast<std::int32_t>(batch[d].size);
    args.a_batch[d] = batch[d].strides[0];
    args.b_batch[d] = batch[d].strides[1];
  }
  return out;
}

std::variant<Read, Refusal> read(const Problem& problem, ElementType type) {
  if (auto refusal = refuse_types(problem, type)) return *refusal;
  for (std::size_t i = 0; i < problem.node.op_inputs(); ++i)
    if (problem.has(i) && problem.input(i).type != type) return Refusal{"a constant of another type"};
  const auto* gemm = std::get_if<Gemm>(&problem.node.op);
  auto answer = gemm != nullptr ? read_gemm(problem, *gemm) : read_matmul(problem);
  auto* out = std::get_if<Read>(&answer);
  if (out == nullptr) return answer;
  const auto epilogue = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&epilogue)) return *refusal;
  const auto& fused = std::get<Epilogue>(epilogue);
  if (fused.pool != 1) return Refusal{"a pool is fused"};
  out->arguments.activation = fused.activation;
  out->residual = fused.residual;
  return answer;
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const auto answer = read(problem, kernel.type);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  const Work all = work(problem.graph, problem.node);
  const Estimate moving = streaming_estimate(problem);
  const bool exact = kernel.type == ElementType::float32;
  const double rate = exact ? 12e12 : 60e12;
  // Each step of the depth is loaded, waited for and multiplied.
  const double steps = std::get<Read>(answer).arguments.depth / static_cast<double>(exact ? 16 : 32) * 0.7e-6;
  offer.estimate = {moving.seconds + all.flops / rate + steps, "compute"};
  return offer;
}

Launch prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
               const StepAddresses& at) {
  const auto answer = read(problem, kernel.type);
  const auto& [arguments, batch, residual, sum] = std::get<Read>(answer);
  if (problem.output().shape().volume() == 0) return nothing();
  const auto tiles = [](std::int64_t x) { return (x + kMatmulTile - 1) / kMatmulTile; };
  const void *a = at.input(0), *b = at.input(1), *c = sum ? at.input(2) : nullptr,
             *more = residual >= 0 ? at.input(static_cast<std::size_t>(residual)) : nullptr;
  return launch_of(device.library.function(Binary::matmul, fmt::format("matmul_{}", short_name(kernel.type))),
                   {.blocks = blocks_for(tiles(arguments.rows) * tiles(arguments.columns) * batch, 1),
                    .threads = kernel.type == ElementType::float32 ? 256 : 128,
                    .early_start = true},
                   a, b, c, more, at.outputs[0], arguments);
}

}  // namespace

std::vector<CudaKernel> matmul_kernels() {
  static std::list<std::string> names;  // KernelInfo keeps views
  std::vector<CudaKernel> out;
  for (const std::string_view op : {MatMul::kName, Gemm::kName})
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32}) {
      names.push_back(fmt::format("{}_{}_values", op == MatMul::kName ? "matmul" : "gemm", short_name(type)));
      out.push_back({.info = {.name = names.back(), .op = op, .type = type, .consider = consider}, .prepare = prepare});
    }
  return out;
}

}  // namespace tessera::cuda
