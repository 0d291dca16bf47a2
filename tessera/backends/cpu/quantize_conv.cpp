// QLinearConv and ConvInteger, exactly as defined: for each row of outputs the inputs under the window are laid out as
// columns of 16-bit differences from the zero point, and multiplied with the weights.

#include "tessera/backends/cpu/internal/families.h"
#include "tessera/backends/cpu/internal/integer_dot.h"
#include "tessera/backends/cpu/internal/requantize.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/ops/quantize.h"

#include <fmt/format.h>

#include <memory>

namespace tessera::cpu {
namespace {

// Which input of the node is what; -1: the operator has none.
struct Inputs {
  std::size_t w = 3;
  int x_zero = 2, w_zero = 5, bias = 8;
  bool requantizes = true;
};
Inputs inputs_of(const Op& op) {
  return std::holds_alternative<QLinearConv>(op) ? Inputs{} : Inputs{1, 2, 3, -1, false};
}

// One spatial dimension counts as two, the first of extent 1.
struct Sizes {
  std::int64_t images = 1, groups = 1, ic = 1, oc = 1;  // channels of one group
  std::int64_t h = 1, w = 1, oh = 1, ow = 1, kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1, top = 0, left = 0;
  std::int64_t length = 0;  // of a column, padded
};

Sizes sizes_of(const Problem& problem) {
  const Inputs in = inputs_of(problem.node.op);
  Window window =
      in.requantizes ? std::get<QLinearConv>(problem.node.op).window : std::get<ConvInteger>(problem.node.op).window;
  const Shape x = problem.input(0).shape(), w = problem.input(in.w).shape();
  const int spatial = x.rank() - 2;
  if (window.kernel.empty()) window.kernel.assign(w.dims().begin() + 2, w.dims().end());
  const ResolvedWindow r = resolve(window, {x.dims().begin() + 2, x.dims().end()}, false, name(problem.node.op));
  Sizes s;
  s.groups =
      in.requantizes ? std::get<QLinearConv>(problem.node.op).groups : std::get<ConvInteger>(problem.node.op).groups;
  s.images = x[0], s.ic = w[1], s.oc = w[0] / s.groups;
  const auto last = static_cast<std::size_t>(spatial - 1);
  s.w = x[-1], s.ow = r.output[last], s.kw = r.kernel[last], s.sw = r.strides[last], s.dw = r.dilations[last],
  s.left = r.begins[last];
  if (spatial == 2)
    s.h = x[2], s.oh = r.output[0], s.kh = r.kernel[0], s.sh = r.strides[0], s.dh = r.dilations[0], s.top = r.begins[0];
  s.length = round_up_length(s.ic * s.kh * s.kw, kIntegerStep);
  return s;
}

// Scratch of one thread: the columns of a row of outputs, and its totals.
std::int64_t columns_bytes(const Sizes& s) { return round_up_length(s.ow * s.length * 2, 64); }
std::int64_t totals_bytes(const Sizes& s) { return round_up_length(s.ow * s.oc * 4, 64); }

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const Inputs in = inputs_of(problem.node.op);
  const int rank = problem.input(0).rank();
  if (rank != 3 && rank != 4) return Refusal{fmt::format("{} spatial dimensions", rank - 2)};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (problem.constant(in.w) == nullptr) return Refusal{"the weights are computed"};
  const auto w_zero = static_cast<std::size_t>(in.w_zero);
  if (problem.has(w_zero) && problem.constant(w_zero) == nullptr)
    return Refusal{"the zero points of the weights are computed"};
  if (in.requantizes)
    for (const std::size_t i : {1, 4, 6})
      if (problem.input(i).type != ElementType::float32) return Refusal{"a scale is not float32"};
  const Sizes s = sizes_of(problem);
  if (s.length > kIntegerLongest) return Refusal{"the sums are longer than int32 holds"};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  offer.scratch_bytes = problem.threads * (columns_bytes(s) + totals_bytes(s));
  const Work w = work(problem.graph, problem.node);
  offer.estimate =
      estimate(problem, kernel.isa, w.flops + 2.0 * static_cast<double>(s.images * s.groups * s.oh * s.ow * s.length),
               w.read_bytes + w.write_bytes, 0.25);
  return offer;
}

PackedWeights pack(const Array& w, const std::vector<std::int64_t>& zeros, std::int64_t length) {
  const std::int64_t rows = w.shape()[0], k = w.shape().volume() / std::max<std::int64_t>(rows, 1);
  const bool has_sign = w.type() == ElementType::int8;
  PackedWeights packed(static_cast<std::size_t>(rows * length * 2));
  auto* to = reinterpret_cast<std::int16_t*>(packed.data());
  std::fill_n(to, rows * length, std::int16_t{0});
  for (std::int64_t m = 0; m < rows; ++m) {
    const std::int64_t zero = zeros[zeros.size() == 1 ? 0 : static_cast<std::size_t>(m)];
    for (std::int64_t i = 0; i < k; ++i)
      to[m * length + i] = static_cast<std::int16_t>(byte_value(w.bytes().data() + m * k + i, has_sign) - zero);
  }
  return packed;
}

// The columns of one row of outputs; what the padding covers adds nothing.
void lay_columns(const Sizes& s, const std::byte* x, bool has_sign, std::int32_t zero, std::int64_t row,
                 std::int16_t* columns) {
  std::fill_n(columns, s.ow * s.length, std::int16_t{0});
  std::int64_t k = 0;
  for (std::int64_t c = 0; c < s.ic; ++c)
    for (std::int64_t i = 0; i < s.kh; ++i) {
      const std::int64_t y = row * s.sh - s.top + i * s.dh;
      for (std::int64_t j = 0; j < s.kw; ++j, ++k) {
        if (y < 0 || y >= s.h) continue;
        const std::byte* line = x + (c * s.h + y) * s.w;
        const std::int64_t offset = j * s.dw - s.left;
        for (std::int64_t o = 0; o < s.ow; ++o) {
          const std::int64_t at = o * s.sw + offset;
          if (at >= 0 && at < s.w)
            columns[o * s.length + k] = static_cast<std::int16_t>(byte_value(line + at, has_sign) - zero);
        }
      }
    }
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache& weights) {
  const Inputs in = inputs_of(problem.node.op);
  const Sizes s = sizes_of(problem);
  const std::vector<std::int64_t> w_zeros = constant_zeros(problem.constant(static_cast<std::size_t>(in.w_zero)));
  const auto packed = weights.get(problem.graph.value(problem.node.inputs[in.w]).constant,
                                  fmt::format("integers {} zeros={}", s.length, zeros_text(w_zeros)),
                                  [&](const Array& w) { return pack(w, w_zeros, s.length); });
  const auto dots = TSR_FOR_ISA(kernel.isa, integer_dots);
  const bool x_sign = problem.input(0).type == ElementType::int8, y_sign = problem.output().type == ElementType::int8;
  const bool has_x_zero = problem.has(static_cast<std::size_t>(in.x_zero)), has_bias = in.bias >= 0 && problem.has(8);
  const bool one_scale = in.requantizes && problem.input(4).shape().volume() == 1;
  const int threads = problem.threads;
  return [=](const StepArgs& args) {
    const std::int32_t x_zero = has_x_zero ? byte_value(args.inputs[static_cast<std::size_t>(in.x_zero)], x_sign) : 0;
    const auto* w = reinterpret_cast<const std::int16_t*>(packed->data());
    const std::int64_t rows = s.images * s.groups * s.oh;
    const auto run_row = [&](std::int64_t row, std::byte* scratch) {
      const std::int64_t plane = row / s.oh, line = row % s.oh, group = plane % s.groups;
      auto* columns = reinterpret_cast<std::int16_t*>(scratch);
      auto* totals = reinterpret_cast<std::int32_t*>(scratch + columns_bytes(s));
      lay_columns(s, args.inputs[0] + plane * s.ic * s.h * s.w, x_sign, x_zero, line, columns);
      dots(w + group * s.oc * s.length, s.oc, columns, s.ow, s.length, totals, s.ow);
      for (std::int64_t m = 0; m < s.oc; ++m) {
        std::int32_t* sums = totals + m * s.ow;
        const std::int64_t channel = group * s.oc + m, at = ((plane * s.oc + m) * s.oh + line) * s.ow;
        if (!in.requantizes) {
          std::copy_n(sums, s.ow, args.output<std::int32_t>() + at);
          continue;
        }
        if (has_bias)  // wraps around, as the sum of the definition does
          for (std::int64_t o = 0; o < s.ow; ++o)
            sums[o] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[o]) +
                                                static_cast<std::uint32_t>(args.input<std::int32_t>(8)[channel]));
        const float multiplier =
            *args.input<float>(1) * args.input<float>(4)[one_scale ? 0 : channel] / *args.input<float>(6);
        requantize(sums, s.ow, static_cast<double>(multiplier), byte_value(args.inputs[7], y_sign), y_sign,
                   args.outputs[0] + at);
      }
    };
    // Each share of the rows has its own scratch.
    parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t share = begin; share < end; ++share)
        for (std::int64_t row = rows * share / threads; row < rows * (share + 1) / threads; ++row)
          run_row(row, args.scratch + share * (columns_bytes(s) + totals_bytes(s)));
    });
  };
}

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa) {
  return {{.name = name, .op = op, .isa = isa, .type = ElementType::int8, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
    kernel("qlinear_conv_i8_portable", QLinearConv::kName, Isa::portable),
    kernel("qlinear_conv_i8_avx2", QLinearConv::kName, Isa::avx2),
    kernel("qlinear_conv_i8_avx512", QLinearConv::kName, Isa::avx512),
    kernel("conv_integer_i8_portable", ConvInteger::kName, Isa::portable),
    kernel("conv_integer_i8_avx2", ConvInteger::kName, Isa::avx2),
    kernel("conv_integer_i8_avx512", ConvInteger::kName, Isa::avx512),
};

}  // namespace

std::span<const CpuKernel> quantize_conv_kernels() { return kKernels; }

}  // namespace tessera::cpu
