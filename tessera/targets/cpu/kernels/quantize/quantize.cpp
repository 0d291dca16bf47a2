// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear between float32 and 8-bit integers, exactly as defined: a
// quotient of floats is the same whether rounded from double or made in float.

#include "tessera/graph/ops/quantize.h"
#include "tessera/targets/cpu/kernels/elementwise/elementwise.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/quantize/quantize_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

namespace tessera::cpu {
namespace {

bool is_byte(ElementType type) { return type == ElementType::int8 || type == ElementType::uint8; }

struct Attributes {
  std::int64_t axis = 1, block = 0;
};
Attributes attributes_of(const Op& op) {
  if (const auto* quantize = std::get_if<QuantizeLinear>(&op)) return {quantize->axis, quantize->block};
  const auto& dequantize = std::get<DequantizeLinear>(op);
  return {dequantize.axis, dequantize.block};
}

bool is_per_tensor(const Problem& problem) { return problem.input(1).shape().volume() == 1; }

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const bool quantizes = std::holds_alternative<QuantizeLinear>(problem.node.op);
  const ElementType narrow = quantizes ? problem.output().type : problem.input(0).type,
                    wide = quantizes ? problem.input(0).type : problem.output().type;
  if (!is_byte(narrow)) return Refusal{fmt::format("the integers are {}", name(narrow))};
  if (wide != ElementType::float32 || problem.input(1).type != ElementType::float32)
    return Refusal{"something is not float32"};
  if (quantizes) {
    const auto& op = std::get<QuantizeLinear>(problem.node.op);
    if (op.precision && *op.precision != ElementType::float32) return Refusal{"it divides in another precision"};
  }
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (attributes_of(problem.node.op).block != 0) return Refusal{"blocks"};
  if (!is_per_tensor(problem) && (problem.constant(1) == nullptr || (problem.has(2) && problem.constant(2) == nullptr)))
    return Refusal{"scales of an axis are computed"};
  Offer offer = elementwise_offer(problem);
  offer.estimate = estimate(problem, kernel.isa, 4.0 * static_cast<double>(problem.output().shape().volume()),
                            streamed_bytes(problem), 0.25);
  return offer;
}

// Which scale belongs to which element: `extent` of them, each for `inner` neighbours.
struct Scales {
  std::int64_t outer = 1, extent = 1, inner = 1;
  std::vector<float> scales, zeros;
};

std::vector<float> floats_of(const Array* array, std::int64_t count) {
  std::vector<float> out;
  if (array == nullptr) return std::vector<float>(static_cast<std::size_t>(count), 0.0f);
  for (const double v : array->to_double()) out.push_back(static_cast<float>(v));
  return out;
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer& offer, WeightCache&) {
  const bool quantizes = std::holds_alternative<QuantizeLinear>(problem.node.op), has_zero = problem.has(2);
  const ElementType narrow = quantizes ? problem.output().type : problem.input(0).type;
  const bool has_sign = narrow == ElementType::int8;
  const QuantizeFunctions f = TSR_FOR_ISA(kernel.isa, quantize_functions)(has_sign);
  const auto convert = [=](const std::byte* x, std::byte* y, std::int64_t at, std::int64_t n, const float* scales,
                           const float* zeros, bool one) {
    const std::int64_t wide = at * static_cast<std::int64_t>(sizeof(float));
    if (quantizes)
      f.quantize(reinterpret_cast<const float*>(x + wide), y + at, n, scales, zeros, one);
    else
      f.dequantize(x + at, reinterpret_cast<float*>(y + wide), n, scales, zeros, one);
  };
  const Shape shape = problem.output().shape();
  const std::int64_t count = shape.volume();
  if (is_per_tensor(problem))
    return [=](const StepArgs& args) {
      const float scale = *args.input<float>(1);
      const float zero = !has_zero  ? 0.0f
                         : has_sign ? static_cast<float>(*args.input<std::int8_t>(2))
                                    : static_cast<float>(*args.input<std::uint8_t>(2));
      parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
        convert(args.inputs[0], args.outputs[0], begin, end - begin, &scale, &zero, true);
      });
    };
  auto s = std::make_shared<Scales>();
  const Order order = offer.inputs[0];
  const Shape stored = stored_shape(shape, order);
  const int axis = stored_axis(
      normalized_axis(attributes_of(problem.node.op).axis, shape.rank(), name(problem.node.op)), shape.rank(), order);
  for (int d = 0; d < stored.rank(); ++d) (d < axis ? s->outer : d == axis ? s->extent : s->inner) *= stored[d];
  s->scales = floats_of(problem.constant(1), s->extent);
  s->zeros = floats_of(problem.constant(2), s->extent);
  return [=, shared = std::shared_ptr<const Scales>(s)](const StepArgs& args) {
    const Scales& sc = *shared;
    const bool by_element = sc.inner == 1;
    const std::int64_t rows = by_element ? sc.outer : sc.outer * sc.extent, length = by_element ? sc.extent : sc.inner;
    parallel_for(rows, std::max<std::int64_t>(1, kCheapGrain / std::max<std::int64_t>(1, length)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     const auto at = static_cast<std::size_t>(by_element ? 0 : row % sc.extent);
                     convert(args.inputs[0], args.outputs[0], row * length, length, sc.scales.data() + at,
                             sc.zeros.data() + at, !by_element);
                   }
                 });
  };
}

Answer consider_dynamic(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer;
  offer.inputs = {problem.orders[0]};
  offer.outputs = {problem.orders[0], Order::row_major, Order::row_major};
  const std::int64_t count = problem.output().shape().volume();
  offer.scratch_bytes =
      ceil_div(std::max<std::int64_t>(count, 1), kCheapGrain) * static_cast<std::int64_t>(2 * sizeof(float));
  offer.estimate = estimate(problem, kernel.isa, 6.0 * static_cast<double>(count), streamed_bytes(problem), 0.25);
  return offer;
}

std::uint8_t zero_point(float quotient) {
  const double rounded = std::nearbyint(static_cast<double>(quotient));
  return !(rounded > 0) ? 0 : rounded >= 255 ? 255 : static_cast<std::uint8_t>(rounded);
}

Runner prepare_dynamic(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  const QuantizeFunctions f = TSR_FOR_ISA(kernel.isa, quantize_functions)(false);
  const auto widen = TSR_FOR_ISA(kernel.isa, widen_range);
  const std::int64_t count = problem.output().shape().volume();
  return [=](const StepArgs& args) {
    const float* x = args.input<float>(0);
    // One range for every piece of kCheapGrain elements; the range always holds 0.
    float* ranges = reinterpret_cast<float*>(args.scratch);
    const std::int64_t pieces = ceil_div(count, kCheapGrain);
    std::fill_n(ranges, 2 * pieces, 0.0f);
    parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
      widen(x + begin, end - begin, ranges + 2 * (begin / kCheapGrain));
    });
    float low = 0, high = 0;
    for (std::int64_t p = 0; p < pieces; ++p) {
      low = std::min(low, ranges[2 * p]);
      high = std::max(high, ranges[2 * p + 1]);
    }
    const float scale = high == low ? 1.0f : (high - low) / 255.0f;
    const std::uint8_t zero = zero_point(-low / scale);
    const float zero_value = zero;
    if (args.outputs[0] != nullptr)
      parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
        f.quantize(x + begin, args.output<std::uint8_t>(0) + begin, end - begin, &scale, &zero_value, true);
      });
    if (args.outputs.size() > 1 && args.outputs[1] != nullptr) *args.output<float>(1) = scale;
    if (args.outputs.size() > 2 && args.outputs[2] != nullptr) *args.output<std::uint8_t>(2) = zero;
  };
}

using Consider = Answer (*)(const KernelInfo&, const Problem&);
using Prepare = Runner (*)(const KernelInfo&, const Problem&, const Offer&, WeightCache&);

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa, Consider consider_it,
                           Prepare prepare_it) {
  return {{.name = name, .op = op, .isa = isa, .consider = consider_it}, prepare_it};
}

constexpr CpuKernel kKernels[] = {
    kernel("quantize_f32_portable", QuantizeLinear::kName, Isa::portable, consider, prepare),
    kernel("quantize_f32_avx2", QuantizeLinear::kName, Isa::avx2, consider, prepare),
    kernel("quantize_f32_avx512", QuantizeLinear::kName, Isa::avx512, consider, prepare),
    kernel("dequantize_f32_portable", DequantizeLinear::kName, Isa::portable, consider, prepare),
    kernel("dequantize_f32_avx2", DequantizeLinear::kName, Isa::avx2, consider, prepare),
    kernel("dequantize_f32_avx512", DequantizeLinear::kName, Isa::avx512, consider, prepare),
    kernel("dynamic_quantize_portable", DynamicQuantizeLinear::kName, Isa::portable, consider_dynamic, prepare_dynamic),
    kernel("dynamic_quantize_avx2", DynamicQuantizeLinear::kName, Isa::avx2, consider_dynamic, prepare_dynamic),
    kernel("dynamic_quantize_avx512", DynamicQuantizeLinear::kName, Isa::avx512, consider_dynamic, prepare_dynamic),
};

}  // namespace

std::span<const CpuKernel> quantize_kernels() { return kKernels; }

}  // namespace tessera::cpu
