// Liquid cells by the packed kernels of ncp, in float32. Weights are packed once; a run keeps every state, which is
// what the operators answer.

#include "tessera/core/error.h"
#include "tessera/ncp/graph_layer.h"
#include "tessera/ncp/runner.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cpu {
namespace {

// Positions that Cfc and Ltc share.
constexpr std::size_t kX = Cfc::kX, kTimes = Cfc::kTimes, kState = Cfc::kState, kFirstWeights = Cfc::kHeads;
static_assert(kX == Ltc::kX && kTimes == Ltc::kTimes && kState == Ltc::kState && kFirstWeights == Ltc::kMembrane);

constexpr double kEfficiency = 0.2;  // of the peak: a step waits for the one before it

bool is_finite(const Array& array) {
  return std::ranges::all_of(array.as<float>(), [](float v) { return std::isfinite(v); });
}

std::optional<std::string> refuse_weights(const Problem& problem) {
  for (std::size_t i = kFirstWeights; i < problem.node.inputs.size(); ++i) {
    if (!problem.has(i)) continue;
    const Array* constant = problem.constant(i);
    if (constant == nullptr) return fmt::format("input {} is no constant", i);
    if (!is_finite(*constant)) return fmt::format("input {} is not finite everywhere", i);
  }
  return std::nullopt;
}

Answer consider_sequence(const KernelInfo& kernel, const Problem& problem, std::int64_t units) {
  const TensorType& x = problem.input(kX);
  if (x.type != ElementType::float32) return Refusal{fmt::format("{}, not float32", name(x.type))};
  if (problem.node.fused_inputs > 0 || !problem.node.fused.empty()) return Refusal{"something is fused"};
  if (problem.output().shape().volume() == 0) return Refusal{"nothing to compute"};
  if (problem.has(kTimes) && problem.input(kTimes).shape().rank() == 3 && problem.input(kTimes).shape()[2] != 1)
    return Refusal{fmt::format("a time for each of {} units", units)};
  if (auto reason = refuse_weights(problem)) return Refusal{*reason};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs.assign(problem.types.outputs.size(), Order::row_major);
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w.flops, w.read_bytes + w.write_bytes, kEfficiency);
  return offer;
}

Answer consider_cfc(const KernelInfo& kernel, const Problem& problem) {
  return consider_sequence(kernel, problem, problem.output().shape()[2]);
}

Answer consider_ltc(const KernelInfo& kernel, const Problem& problem) {
  if (std::get<Ltc>(problem.node.op).solver != Ltc::Solver::semi_implicit)
    return Refusal{"a solver that is not semi-implicit"};
  return consider_sequence(kernel, problem, problem.output().shape()[2]);
}

Runner run_by(const KernelInfo& kernel, const Problem& problem, ncp::LayerOfNode made, bool batch_first) {
  struct State {
    ncp::Runner runner;
    std::int64_t batch, steps;
    std::size_t inputs, times, state;  // elements
  };
  const Shape& x = problem.input(kX).shape();
  const auto elements = [&](std::size_t i) {
    return problem.has(i) ? static_cast<std::size_t>(problem.input(i).shape().volume()) : std::size_t{0};
  };
  auto state = std::make_shared<State>(State{ncp::Runner(std::move(made.layer), std::move(made.parameters), kernel.isa),
                                             x[batch_first ? 0 : 1], x[batch_first ? 1 : 0], elements(kX),
                                             elements(kTimes), elements(kState)});
  return [state](const StepArgs& args) {
    const auto operand = [&](std::size_t i, std::size_t count) {
      return count == 0 ? std::span<const float>() : std::span(args.input<float>(i), count);
    };
    const ncp::Sequence<float> sequence{.batch = state->batch,
                                        .steps = state->steps,
                                        .input = operand(kX, state->inputs),
                                        .timespans = operand(kTimes, state->times),
                                        .state = operand(kState, state->state)};
    const ncp::SequenceResult<float> result = state->runner.run(sequence);
    const auto store = [&](std::size_t i, const std::vector<float>& values) {
      if (i < args.outputs.size() && args.outputs[i] != nullptr)
        std::memcpy(args.outputs[i], values.data(), values.size() * sizeof(float));
    };
    store(0, result.output);
    store(1, result.state);
  };
}

std::vector<const Array*> constants_of(const Problem& problem) {
  std::vector<const Array*> out;
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i) out.push_back(problem.constant(i));
  return out;
}

Runner prepare_cfc(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  const auto& op = std::get<Cfc>(problem.node.op);
  return run_by(kernel, problem, ncp::layer_of(op, problem.input(kX).shape()[2], constants_of(problem)),
                op.batch_first);
}

Runner prepare_ltc(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  const auto& op = std::get<Ltc>(problem.node.op);
  return run_by(kernel, problem, ncp::layer_of(op, constants_of(problem)), op.batch_first);
}

constexpr CpuKernel cfc_kernel(std::string_view name, Isa isa) {
  return {{.name = name, .op = Cfc::kName, .isa = isa, .consider = consider_cfc}, prepare_cfc};
}
constexpr CpuKernel ltc_kernel(std::string_view name, Isa isa) {
  return {{.name = name, .op = Ltc::kName, .isa = isa, .consider = consider_ltc}, prepare_ltc};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    cfc_kernel("cfc_f32_avx512", Isa::avx512),     ltc_kernel("ltc_f32_avx512", Isa::avx512),
    cfc_kernel("cfc_f32_avx2", Isa::avx2),         ltc_kernel("ltc_f32_avx2", Isa::avx2),
#endif
    cfc_kernel("cfc_f32_portable", Isa::portable), ltc_kernel("ltc_f32_portable", Isa::portable),
};

}  // namespace

std::span<const CpuKernel> liquid_kernels() { return kKernels; }

}  // namespace tessera::cpu
