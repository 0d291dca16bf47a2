// Transposed convolutions over one or two dimensions, channels last, on the dense engine. Output pixels whose positions
// agree modulo the strides see the same taps, and of the input a plain grid: each such phase is a convolution of stride
// 1 that writes every stride-th pixel. A kernel of 2x2 with strides of 2 makes four products of matrices.

#include "tessera/graph/ops/conv_transpose.h"
#include "tessera/targets/cpu/kernels/dense/conv2d.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/flush.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace tessera::cpu {
namespace {

// One spatial dimension.
struct Axis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, begin = 0;
};

struct TransposedShape {
  std::int64_t n = 0, ic = 0, oc = 0, groups = 1;
  Axis h, w;
  std::int64_t x_pixel = 0, y_pixel = 0, residual_pixel = 0;  // elements from one to the next
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

Axis read_axis(const ConvTranspose& op, std::size_t d, std::int64_t in, std::int64_t out, std::int64_t kernel) {
  const auto entry = [&](const std::vector<std::int64_t>& list, std::int64_t otherwise) {
    return d < list.size() ? list[d] : otherwise;
  };
  Axis axis{in, out, kernel, entry(op.window.strides, 1), entry(op.window.dilations, 1), 0};
  const bool same = op.window.auto_pad == AutoPad::same_upper || op.window.auto_pad == AutoPad::same_lower;
  if (!op.output_shape.empty() || same) {  // what is too much is cut off at both ends
    const std::int64_t full = (in - 1) * axis.stride + entry(op.output_padding, 0) + (kernel - 1) * axis.dilation + 1;
    const std::int64_t total = std::max<std::int64_t>(full - out, 0);
    axis.begin = op.window.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
  } else if (op.window.auto_pad == AutoPad::none) {
    axis.begin = entry(op.window.pads, 0);
  }
  return axis;
}

TransposedShape read_shape(const Problem& problem) {
  const auto& op = std::get<ConvTranspose>(problem.node.op);
  const Shape x = problem.input(0).shape(), w = problem.input(1).shape(), y = problem.op_output().shape();
  TransposedShape s{x[0], x[1], y[1], op.groups, {}, {}, problem.input_pixel(0), problem.output_pixel(), y[1]};
  const int last = x.rank() - 1;
  if (last == 3) s.h = read_axis(op, 0, x[2], y[2], w[2]);
  s.w = read_axis(op, static_cast<std::size_t>(last - 2), x[last], y[last], w[last]);
  return s;
}

// Along one dimension, the outputs o with (o + begin) % stride == phase: o = first + stride * i for i < count. They see
// the input at i + offset of each tap.
struct Phase {
  std::int64_t first = 0, count = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> taps;  // position in the kernel, offset
};

Phase phase_of(const Axis& axis, std::int64_t phase) {
  Phase p;
  const std::int64_t q = -floor_div(phase - axis.begin, axis.stride);  // the least with q * stride + phase >= begin
  p.first = q * axis.stride + phase - axis.begin;
  p.count = p.first < axis.out ? ceil_div(axis.out - p.first, axis.stride) : 0;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t back = phase - k * axis.dilation;
    if (floor_div(back, axis.stride) * axis.stride == back) p.taps.push_back({k, q + floor_div(back, axis.stride)});
  }
  return p;
}

// visit(phase of h, phase of w, group, first element of its packed weights), in the order in which weights are packed.
template <class Visit>
std::int64_t for_each_phase(const TransposedShape& s, const DenseKernel& kernel, Visit visit) {
  std::int64_t at = 0;
  for (std::int64_t ph = 0; ph < s.h.stride; ++ph)
    for (std::int64_t pw = 0; pw < s.w.stride; ++pw) {
      const Phase h = phase_of(s.h, ph), w = phase_of(s.w, pw);
      const auto taps = static_cast<std::int64_t>(h.taps.size() * w.taps.size());
      for (std::int64_t g = 0; g < s.groups; ++g) {
        visit(h, w, g, at);
        at += packed_elements(kernel, taps, s.ic / s.groups, s.oc / s.groups);
      }
    }
  return at;
}

std::vector<DenseJob> make_jobs(const TransposedShape& s, const DenseKernel& kernel) {
  const std::int64_t ic = s.ic / s.groups, oc = s.oc / s.groups;
  const auto places = [&](const Phase& h, const Phase& w, std::int64_t g, std::int64_t pixel) {
    return DensePlaces{(h.first * s.w.out + w.first) * pixel + g * oc, s.h.out * s.w.out * pixel,
                       s.h.stride * s.w.out * pixel, s.w.stride * pixel};
  };
  std::vector<DenseJob> jobs;
  for_each_phase(s, kernel, [&](const Phase& h, const Phase& w, std::int64_t g, std::int64_t at) {
    if (h.count == 0 || w.count == 0) return;
    DenseJob& job = jobs.emplace_back();
    job.images = s.n, job.grid_h = h.count, job.grid_w = w.count;
    job.height = s.h.in, job.width = s.w.in, job.pixel = widens(kernel) ? s.ic : s.x_pixel, job.x_first = g * ic;
    for (const auto& [ky, dy] : h.taps)
      for (const auto& [kx, dx] : w.taps) job.taps.push_back({dy, dx});
    job.depth = ic;
    job.y = places(h, w, g, s.y_pixel), job.residual = places(h, w, g, s.residual_pixel);
    job.columns = oc;
    job.weights_first = at;
    job.bias_first = g * round_up(oc, kernel.columns);
  });
  return jobs;
}

// C M/groups kh kw into the panels of each phase and group.
template <class T>
PackedWeights pack(const Array& weights, const TransposedShape& s, const DenseKernel& kernel, Flush flush) {
  const std::int64_t ic = s.ic / s.groups, oc = s.oc / s.groups, area = s.h.kernel * s.w.kernel;
  const T* from = reinterpret_cast<const T*>(weights.bytes().data());
  const std::int64_t elements = for_each_phase(s, kernel, [](const auto&...) {});
  PackedWeights packed(static_cast<std::size_t>(elements) * sizeof(T));
  for_each_phase(s, kernel, [&](const Phase& h, const Phase& w, std::int64_t g, std::int64_t at) {
    std::vector<std::int64_t> taps;
    for (const auto& [ky, dy] : h.taps)
      for (const auto& [kx, dx] : w.taps) taps.push_back(ky * s.w.kernel + kx);
    pack_panels(kernel, static_cast<std::int64_t>(taps.size()), ic, oc, reinterpret_cast<T*>(packed.data()) + at,
                [&](std::int64_t column, std::int64_t k) {
                  return flush(from[((g * ic + k % ic) * oc + column) * area + taps[static_cast<std::size_t>(k / ic)]]);
                });
  });
  return packed;
}

Answer consider(const KernelInfo& info, const Problem& problem) {
  const TensorType& x = problem.input(0);
  if (x.type != info.type) return Refusal{fmt::format("stores {}, the input is {}", name(info.type), name(x.type))};
  if (x.shape().rank() < 3 || x.shape().rank() > 4)
    return Refusal{fmt::format("{} spatial dimensions, not 1 or 2", x.shape().rank() - 2)};
  if (x.shape().volume() == 0 || problem.op_output().shape().volume() == 0) return Refusal{"nothing to compute"};
  if (problem.constant(1) == nullptr) return Refusal{"the weights are computed at run time"};
  if (problem.node.op_inputs() > 2 && problem.has(2) && problem.constant(2) == nullptr)
    return Refusal{"the bias is computed at run time"};
  const auto read = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const Epilogue& epilogue = std::get<Epilogue>(read);
  if (epilogue.pool != nullptr) return Refusal{"a fused pool"};

  const TransposedShape s = read_shape(problem);
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = Order::channels_last;
  if (epilogue.residual >= 0) offer.inputs[static_cast<std::size_t>(epilogue.residual)] = Order::channels_last;
  offer.outputs = {Order::channels_last};
  set_wide(offer, epilogue);
  if (widens(dense_kernel(info))) offer.scratch_bytes = round_up(x.shape().volume() * 4, 64);
  const Work w = work(problem.graph, problem.node);
  const std::int64_t taps = ceil_div(s.h.kernel, s.h.stride) * ceil_div(s.w.kernel, s.w.stride);  // of a phase
  offer.estimate = estimate(
      problem, as_wide(info), w.flops, w.read_bytes + w.write_bytes,
      dense_efficiency(dense_kernel(info), s.n * s.h.in * s.w.in, s.oc / s.groups, s.ic, taps, s.ic / s.groups));
  return offer;
}

Runner prepare(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache& weights) {
  struct State {
    TransposedShape shape;
    DenseWork work;
    std::shared_ptr<const PackedWeights> weights;
    std::vector<float> bias;
    int residual = -1;
  };
  auto state = std::make_shared<State>();
  State& to = *state;
  const DenseKernel& kernel = dense_kernel(info);
  TransposedShape& s = to.shape = read_shape(problem);
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  if (epilogue.residual >= 0) s.residual_pixel = problem.input_pixel(static_cast<std::size_t>(epilogue.residual));
  to.work.kernel = &kernel;
  to.work.jobs = make_jobs(s, kernel);
  to.work.epilogue = dense_epilogue(epilogue);
  split_work(to.work, problem.threads);
  const Flush flush{!problem.exact};
  to.weights =
      weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                  fmt::format("conv_transpose groups={} strides={},{} dilations={},{} {} flush={}", s.groups,
                              s.h.stride, s.w.stride, s.h.dilation, s.w.dilation, packing_key(kernel), flush.on),
                  [&](const Array& array) {
                    return info.type == ElementType::float32 ? pack<float>(array, s, kernel, flush)
                                                             : pack<std::uint16_t>(array, s, kernel, flush);
                  });
  if (problem.node.op_inputs() > 2 && problem.has(2)) to.bias = pack_bias(*problem.constant(2), s.groups, kernel);
  to.residual = epilogue.residual;

  return [state](const StepArgs& args) {
    const State& from = *state;
    DenseOperands operands;
    const TransposedShape& shape = from.shape;
    operands.x = widened(args.inputs[0], *from.work.kernel, shape.n * shape.h.in * shape.w.in, shape.ic, shape.x_pixel,
                         args.scratch);
    operands.weights = from.weights->data();
    operands.bias = from.bias.empty() ? nullptr : from.bias.data();
    operands.residual = from.residual >= 0 ? args.inputs[static_cast<std::size_t>(from.residual)] : nullptr;
    operands.y = args.outputs[0];
    run_dense(from.work, operands);
  };
}

constexpr CpuKernel kKernels[] = {
#define M(storage, isa)
#define K(storage, rows, columns, set, vectors) \
  TSR_DENSE_KERNEL("conv_transpose", ConvTranspose, storage, rows, columns, set)
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef K
#undef M
};

}  // namespace

std::span<const CpuKernel> conv_transpose_kernels() { return kKernels; }

}  // namespace tessera::cpu
