// Convolutions over one or two dimensions, channels last, on the dense engine: a row is an output pixel, a column an
// output channel.

#include "tessera/targets/cpu/kernels/dense/conv2d.h"

#include "tessera/core/error.h"
#include "tessera/targets/cpu/kernels/dense/block_panels.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/flush.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

namespace tessera::cpu {
namespace {

// Taps side by side are read as one run where that makes runs long enough to be worth it.
constexpr std::int64_t kShortDepth = 64;

bool merges_taps(const Conv2dShape& s) {
  return s.groups == 1 && s.dilation_w == 1 && s.kw > 1 && s.ic < kShortDepth &&
         s.kh * s.kw * s.ic <= kDenseBorderElements;
}

// Taps of the engine and the depth of each.
std::pair<std::int64_t, std::int64_t> taps_of(const Conv2dShape& s) {
  const std::int64_t ic = s.ic / s.groups;
  return merges_taps(s) ? std::pair(s.kh, s.kw * ic) : std::pair(s.kh * s.kw, ic);
}

std::vector<DenseJob> make_jobs(const Conv2dShape& s, const DenseKernel& kernel) {
  const std::int64_t ic = s.ic / s.groups, oc = s.oc / s.groups;
  const auto places = [&](std::int64_t first, std::int64_t pixel) {
    return DensePlaces{first, s.oh * s.ow * pixel, s.ow * pixel, pixel};
  };
  const auto [taps, depth] = taps_of(s);
  std::vector<DenseJob> jobs;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    DenseJob& job = jobs.emplace_back();
    job.images = s.n, job.grid_h = s.oh, job.grid_w = s.ow, job.step_h = s.stride_h, job.step_w = s.stride_w;
    job.height = s.h, job.width = s.w, job.pixel = widens(kernel) ? s.ic : s.x_pixel, job.x_first = g * ic;
    const bool merged = merges_taps(s);
    for (std::int64_t ky = 0; ky < s.kh; ++ky)
      for (std::int64_t kx = 0; kx < (merged ? 1 : s.kw); ++kx)
        job.taps.push_back({ky * s.dilation_h - s.top, kx * s.dilation_w - s.left});
    job.depth = depth;
    job.run = merged ? s.kw : 1;
    job.y = places(g * oc, s.y_pixel), job.residual = places(g * oc, s.residual_pixel);
    job.columns = oc;
    job.weights_first = g * packed_elements(kernel, taps, depth, oc);
    job.bias_first = g * round_up(oc, kernel.columns);
  }
  return jobs;
}

// M C/groups kh kw into the panels of each group, [tap][channel][column].
template <class T>
PackedWeights pack(const Array& weights, const Conv2dShape& s, const DenseKernel& kernel, Flush flush) {
  const std::int64_t ic = s.ic / s.groups, oc = s.oc / s.groups, area = s.kh * s.kw, reduction = area * ic;
  const auto [taps, depth] = taps_of(s);
  const std::int64_t group = packed_elements(kernel, taps, depth, oc);
  PackedWeights packed(static_cast<std::size_t>(s.groups * group) * sizeof(T));
  for (std::int64_t g = 0; g < s.groups; ++g) {
    const T* from = reinterpret_cast<const T*>(weights.bytes().data()) + g * oc * reduction;
    T* to = reinterpret_cast<T*>(packed.data()) + g * group;
    if (kernel.step() == 1)
      pack_columns(kernel, reduction, oc, from, to, [&](std::int64_t k) { return k % area * ic + k / area; }, flush);
    else
      pack_panels(kernel, taps, depth, oc, to, [&](std::int64_t column, std::int64_t k) {
        return flush(from[column * reduction + k % ic * area + k / ic]);
      });
  }
  return packed;
}

// The same in fewer bits, group by group.
PackedWeights pack_blocks(const Array& weights, const Conv2dShape& s, const DenseKernel& kernel, Flush flush) {
  const PackedWeights panels = pack<float>(weights, s, kernel, flush);
  const std::int64_t oc = s.oc / s.groups, reduction = s.kh * s.kw * s.ic / s.groups;
  const std::int64_t group = expanded_bytes(kernel, reduction, oc);
  PackedWeights packed(static_cast<std::size_t>(s.groups * group));
  for (std::int64_t g = 0; g < s.groups; ++g)
    pack_expanded(kernel, reduction, oc,
                  reinterpret_cast<const float*>(panels.data()) + g * packed_elements(kernel, 1, reduction, oc),
                  packed.data() + g * group);
  return packed;
}

struct Layout {
  std::int64_t widened_bytes = 0;  // x as float32, for other storage
  std::int64_t pool_bytes = 0;     // all slots
};

Layout scratch_layout(const Conv2dShape& s, const Epilogue& epilogue, const DenseKernel& kernel, int threads) {
  Layout layout;
  if (widens(kernel)) layout.widened_bytes = round_up(s.n * s.h * s.w * s.ic * 4, 64);
  if (epilogue.pool != nullptr)
    layout.pool_bytes =
        pool_chunks(threads) * pool_slot_bytes(read_pool(*epilogue.pool, s), s, element_bytes(kernel.type));
  return layout;
}

Answer consider(const KernelInfo& info, const Problem& problem) {
  const auto read = read_conv2d(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const Conv2dShape& s = std::get<Conv2dShape>(read);
  if (auto refusal = refuse_operands(info, problem)) return *refusal;
  const DenseKernel& kernel = dense_kernel(info);
  if (auto reason = refuse_weights(kernel, problem, true)) return Refusal{*reason};
  if (s.groups > 1 && s.groups == s.ic && s.oc == s.ic) return Refusal{"depthwise: has kernels of its own"};
  const auto read_fused = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read_fused)) return *refusal;
  const Epilogue& epilogue = std::get<Epilogue>(read_fused);
  if (epilogue.pool != nullptr)
    if (auto reason = refuse_pool(*epilogue.pool, s)) return Refusal{*reason};

  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = Order::channels_last;
  if (epilogue.residual >= 0) offer.inputs[static_cast<std::size_t>(epilogue.residual)] = Order::channels_last;
  offer.outputs = {Order::channels_last};
  set_wide(offer, epilogue);
  if (merges_taps(s)) offer.wide_inputs &= ~std::uint64_t{1};  // they are read across pixels
  const Layout layout = scratch_layout(s, epilogue, kernel, problem.threads);
  offer.scratch_bytes = layout.widened_bytes + layout.pool_bytes;
  Work w = work(problem.graph, problem.node);
  w.read_bytes -= saved_bytes(kernel, problem);
  const auto [taps, depth] = taps_of(s);
  offer.estimate = dense_estimate(
      problem, info, w, dense_efficiency(kernel, s.n * s.oh * s.ow, s.oc / s.groups, s.ic * s.stride_w, taps, depth));
  return offer;
}

Runner prepare(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache& weights) {
  struct State {
    Conv2dShape shape;
    DenseWork work;
    std::shared_ptr<const PackedWeights> weights;
    std::vector<float> bias;
    int residual = -1;
    bool pools = false;
    PoolShape pool;
    int chunks = 1;
    Layout layout;
  };
  auto state = std::make_shared<State>();
  State& to = *state;
  const DenseKernel& kernel = dense_kernel(info);
  to.shape = std::get<Conv2dShape>(read_conv2d(problem));
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  to.work.kernel = &kernel;
  Conv2dShape unpooled = to.shape;
  if (epilogue.pool != nullptr) unpooled.y_pixel = unpooled.oc;
  to.work.jobs = make_jobs(unpooled, kernel);
  to.work.epilogue = dense_epilogue(epilogue);
  split_work(to.work, problem.threads);
  const Conv2dShape& s = to.shape;
  to.weights =
      conv2d_weights(problem.graph.value(problem.node.inputs[1]).constant, s, kernel, Flush{!problem.exact}, weights);
  if (problem.node.op_inputs() > 2 && problem.has(2)) to.bias = pack_bias(*problem.constant(2), s.groups, kernel);
  to.residual = epilogue.residual;
  to.pools = epilogue.pool != nullptr;
  if (to.pools) to.pool = read_pool(*epilogue.pool, s);
  to.chunks = pool_chunks(problem.threads);
  to.layout = scratch_layout(s, epilogue, kernel, problem.threads);

  return [state](const StepArgs& args) {
    const State& from = *state;
    DenseOperands operands;
    operands.x = widened(args.inputs[0], *from.work.kernel, from.shape.n * from.shape.h * from.shape.w, from.shape.ic,
                         from.shape.x_pixel, args.scratch);
    operands.weights = from.weights->data();
    operands.bias = from.bias.empty() ? nullptr : from.bias.data();
    operands.residual = from.residual >= 0 ? args.inputs[static_cast<std::size_t>(from.residual)] : nullptr;
    operands.y = args.outputs[0];
    if (from.pools)
      run_pooled(from.work, operands, from.shape, from.pool, from.chunks, args.scratch + from.layout.widened_bytes);
    else
      run_dense(from.work, operands);
  };
}

constexpr CpuKernel kKernels[] = {
#define M(storage, isa)
#define K(storage, rows, columns, set, vectors) TSR_DENSE_KERNEL("conv2d", Conv, storage, rows, columns, set)
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef K
#undef M
#define E(storage, weights, rows, columns, set) \
  TSR_DENSE_EXPAND_KERNEL("conv2d", Conv, storage, weights, rows, columns, set)
#include "tessera/targets/cpu/kernels/dense/dense_expand.def"
#undef E
};

}  // namespace

std::vector<DenseJob> conv2d_jobs(const Conv2dShape& shape, const DenseKernel& kernel) {
  return make_jobs(shape, kernel);
}

std::shared_ptr<const PackedWeights> conv2d_weights(const std::shared_ptr<const Array>& constant,
                                                    const Conv2dShape& shape, const DenseKernel& kernel, Flush flush,
                                                    WeightCache& weights) {
  return weights.get(constant, fmt::format("conv2d groups={} {} flush={}", shape.groups, packing_key(kernel), flush.on),
                     [&](const Array& array) {
                       return kernel.expand                         ? pack_blocks(array, shape, kernel, flush)
                              : kernel.type == ElementType::float32 ? pack<float>(array, shape, kernel, flush)
                                                                    : pack<std::uint16_t>(array, shape, kernel, flush);
                     });
}

std::optional<Refusal> refuse_operands(const KernelInfo& info, const Problem& problem) {
  if (problem.input(0).type != info.type)
    return Refusal{fmt::format("stores {}, the input is {}", name(info.type), name(problem.input(0).type))};
  if (problem.constant(1) == nullptr) return Refusal{"the weights are computed at run time"};
  if (problem.has(2) && problem.node.op_inputs() > 2 && problem.constant(2) == nullptr)
    return Refusal{"the bias is computed at run time"};
  return std::nullopt;
}

bool all_finite(const Array& weights) {
  const std::span<const float> values = weights.as<float>();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

std::optional<Refusal> refuse_inner_planes(const Problem& problem) {
  const std::vector<ValueId>& outputs = problem.graph.outputs;
  if (std::find(outputs.begin(), outputs.end(), problem.node.outputs[0]) != outputs.end()) return std::nullopt;
  return Refusal{"what reads the result is quicker with channels last"};
}

std::variant<Conv2dShape, Refusal> read_conv2d(const Problem& problem) {
  auto read = read_conv2d(std::get<Conv>(problem.node.op), problem.input(0).shape(), problem.input(1).shape(),
                          problem.op_output().shape());
  if (auto* shape = std::get_if<Conv2dShape>(&read)) {
    shape->x_pixel = problem.input_pixel(0);
    shape->y_pixel = problem.output_pixel();
    const auto fused = read_epilogue(problem);
    const auto* epilogue = std::get_if<Epilogue>(&fused);
    if (epilogue != nullptr && epilogue->residual >= 0)
      shape->residual_pixel = problem.input_pixel(static_cast<std::size_t>(epilogue->residual));
  }
  return read;
}

void set_wide(Offer& offer, const Epilogue& epilogue) {
  const auto allow = [&](int input) {
    if (input >= 0 && input < 64 && offer.inputs[static_cast<std::size_t>(input)] == Order::channels_last)
      offer.wide_inputs |= std::uint64_t{1} << input;
  };
  allow(0);
  allow(epilogue.residual);
  offer.wide_outputs = offer.outputs[0] == Order::channels_last;
}

std::variant<Conv2dShape, Refusal> read_conv2d(const Conv& conv, const Shape& x, const Shape& w, const Shape& y) {
  if (x.rank() < 3 || x.rank() > 4) return Refusal{fmt::format("{} spatial dimensions, not 1 or 2", x.rank() - 2)};
  if (x.volume() == 0 || w.volume() == 0 || y.volume() == 0) return Refusal{"nothing to compute"};
  Window window = conv.window;
  window.kernel.assign(w.begin() + 2, w.end());
  const ResolvedWindow r = resolve(window, {x.begin() + 2, x.end()}, false, Conv::kName);
  const std::size_t last = r.kernel.size() - 1;
  const bool plane = last == 1;
  Conv2dShape s;
  s.n = x[0], s.ic = x[1], s.oc = w[0], s.groups = conv.groups;
  s.h = plane ? x[2] : 1, s.w = x[x.rank() - 1], s.oh = plane ? y[2] : 1, s.ow = y[y.rank() - 1];
  s.kh = plane ? r.kernel[0] : 1, s.kw = r.kernel[last];
  s.stride_h = plane ? r.strides[0] : 1, s.stride_w = r.strides[last];
  s.dilation_h = plane ? r.dilations[0] : 1, s.dilation_w = r.dilations[last];
  s.top = plane ? r.begins[0] : 0, s.left = r.begins[last];
  s.x_pixel = s.ic, s.y_pixel = s.residual_pixel = s.oc;
  return s;
}

std::span<const CpuKernel> conv2d_kernels() { return kKernels; }

}  // namespace tessera::cpu
