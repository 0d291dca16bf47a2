// Convolutions of 1x1 in steps of 1 over row-major values (pointwise.h).
//
// Work is cut into blocks of pixels of one image, whose copy stays in the second cache while panels of output channels
// pass by; where pixels are few, panels are shared out too.

#include "tessera/targets/cpu/kernels/dense/pointwise.h"

#include "tessera/targets/cpu/kernels/dense/conv2d.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/flush.h"
#include "tessera/targets/cpu/kernels/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kCopyBytes = 320 << 10;  // of a second cache, left to pixels
constexpr std::int64_t kUnitsPerThread = 4;
constexpr std::int64_t kUnitProducts = 1 << 15;  // fewer multiply-adds take less time than waking a thread
constexpr std::int64_t kFarBytes = 8 << 20;      // more than that comes from memory: measured 5% for bringing it nearer
constexpr std::int64_t kLeastPanels = 3;         // for which pixels are worth copying

// How the work is cut. Blocks of an image are whole tiles but for the last one.
struct PointwiseSplit {
  PointwiseFunctions functions{};
  std::int64_t pixels = 0, panels = 0;
  std::int64_t tiles = 0;   // of an image, at least 1
  std::int64_t blocks = 1;  // of an image
  std::int64_t parts = 1;   // of the panels
  std::int64_t grain = 1;   // units that are worth a thread
  std::int64_t slots = 1, slot_bytes = 0;

  std::int64_t first_pixel(std::int64_t block) const {
    return std::min(block * tiles / blocks * functions.columns, pixels);
  }
};

PointwiseSplit cut_work(const Conv2dShape& s, Isa isa, int threads) {
  PointwiseSplit cut;
  const PointwiseFunctions f = TSR_FOR_ISA(isa, pointwise)();
  cut.functions = f;
  cut.pixels = s.h * s.w;
  cut.panels = ceil_div(s.oc, f.rows);
  // A last tile of few pixels belongs to the block before it.
  const std::int64_t left = cut.pixels % f.columns;
  cut.tiles = std::max<std::int64_t>(1, cut.pixels / f.columns + (left > f.few ? 1 : 0));
  const std::int64_t tile_bytes = s.ic * f.columns * 4;
  cut.blocks = ceil_div(cut.tiles, std::clamp<std::int64_t>(kCopyBytes / tile_bytes, 1, cut.tiles));
  const std::int64_t products = s.n * cut.pixels * s.ic * s.oc;
  const std::int64_t wanted =
      threads > 1 ? std::max<std::int64_t>(1, std::min(threads * kUnitsPerThread, products / kUnitProducts)) : 1;
  const auto missing = [&] { return ceil_div(wanted, s.n * cut.blocks * cut.parts); };
  cut.blocks = std::min(cut.tiles, cut.blocks * missing());
  cut.parts = std::clamp<std::int64_t>(cut.panels / kLeastPanels, 1, missing());
  if (s.n * cut.blocks * cut.parts < threads) cut.parts = std::min(cut.panels, cut.parts * missing());
  // As many for each thread.
  if (s.n * cut.blocks % threads != 0) cut.blocks = std::min(cut.tiles, round_up(cut.blocks, threads));
  const std::int64_t units = s.n * cut.blocks * cut.parts;
  cut.grain = std::max<std::int64_t>(1, ceil_div(units * kUnitProducts, std::max<std::int64_t>(products, 1)));
  cut.slots = std::min<std::int64_t>({threads, units, Slots::kMost});
  cut.slot_bytes = round_up((ceil_div(cut.tiles, cut.blocks) + 1) * tile_bytes, 64);
  return cut;
}

// The part of the machine's peak that is reached.
double efficiency_of(const PointwiseSplit& cut, const Conv2dShape& s) {
  const PointwiseFunctions& f = cut.functions;
  const std::int64_t left = cut.pixels % f.width;
  const double rows = static_cast<double>(s.oc) / static_cast<double>(cut.panels);
  const double vectors = static_cast<double>(cut.pixels / f.width) +
                         (left == 0       ? 0.0
                          : left <= f.few ? static_cast<double>(std::max<std::int64_t>(left, 2)) / rows
                                          : 1.0);
  const double useful = static_cast<double>(cut.pixels) / (vectors * static_cast<double>(f.width));
  const double sums = rows * std::min(vectors, static_cast<double>(f.columns / f.width));
  return 0.95 * std::min(1.0, useful) * std::min(1.0, sums / 10);
}

Answer consider(const KernelInfo& info, const Problem& problem) {
  const auto read = read_conv2d(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const Conv2dShape& s = std::get<Conv2dShape>(read);
  if (s.kh != 1 || s.kw != 1) return Refusal{fmt::format("a kernel of {}x{}, not 1x1", s.kh, s.kw)};
  if (s.stride_h != 1 || s.stride_w != 1) return Refusal{fmt::format("strides {}x{}", s.stride_h, s.stride_w)};
  if (s.top != 0 || s.left != 0 || s.oh != s.h || s.ow != s.w) return Refusal{"padded"};
  if (s.groups != 1) return Refusal{fmt::format("{} groups", s.groups)};
  if (auto refusal = refuse_inner_planes(problem)) return *refusal;
  if (auto refusal = refuse_operands(info, problem)) return *refusal;
  const auto read_fused = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read_fused)) return *refusal;
  if (std::get<Epilogue>(read_fused).pool != nullptr) return Refusal{"cannot apply a fused pool"};

  const PointwiseSplit cut = cut_work(s, info.isa, problem.threads);
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  offer.scratch_bytes = Slots::bytes(cut.slots, cut.slot_bytes);
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, info.isa, w.flops, w.read_bytes + w.write_bytes, efficiency_of(cut, s));
  return offer;
}

// M C into panels of output channels as even as can be, [input channel][channel of the panel].
PackedWeights pack(const Array& weights, const Conv2dShape& s, const PointwiseSplit& cut, Flush flush) {
  PackedWeights packed(static_cast<std::size_t>(s.ic * s.oc + cut.functions.width) * 4);
  const auto* from = reinterpret_cast<const float*>(weights.bytes().data());
  auto* to = reinterpret_cast<float*>(packed.data());
  std::memset(to + s.ic * s.oc, 0, static_cast<std::size_t>(cut.functions.width) * 4);
  const std::int64_t panel_products = std::max<std::int64_t>(1, s.ic * cut.functions.rows);
  parallel_for(cut.panels, std::max<std::int64_t>(1, (1 << 14) / panel_products),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t panel = begin; panel < end; ++panel) {
                   const std::int64_t first = panel * s.oc / cut.panels, last = (panel + 1) * s.oc / cut.panels;
                   float* at = to + first * s.ic;
                   for (std::int64_t k = 0; k < s.ic; ++k)
                     for (std::int64_t m = first; m < last; ++m) *at++ = flush(from[m * s.ic + k]);
                 }
               });
  return packed;
}

struct State {
  Conv2dShape shape;
  PointwiseSplit cut;
  std::shared_ptr<const PackedWeights> weights;
  std::vector<float> bias;
  DenseEpilogue epilogue;
  int residual = -1;
};

void run(const State& from, const StepArgs& args) {
  const Conv2dShape& s = from.shape;
  const PointwiseSplit& cut = from.cut;
  const Slots slots(args.scratch, cut.slots, cut.slot_bytes);
  parallel_for(s.n * cut.blocks * cut.parts, cut.grain, [&](std::int64_t begin, std::int64_t end) {
    const Slots::Held slot(slots);
    PointwiseBlock block;
    block.plane = cut.pixels, block.depth = s.ic, block.channels = s.oc, block.panels = cut.panels;
    block.weights = reinterpret_cast<const float*>(from.weights->data());
    block.bias = from.bias.data();
    block.epilogue = &from.epilogue;
    block.packed = reinterpret_cast<float*>(slot.data());
    const bool far = s.n * s.ic * cut.pixels * 4 > kFarBytes;
    const auto x_of = [&](std::int64_t unit) {
      return args.input<float>(0) + unit / cut.blocks % s.n * s.ic * cut.pixels + cut.first_pixel(unit % cut.blocks);
    };
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t part = unit / (s.n * cut.blocks), image = unit / cut.blocks % s.n, at = unit % cut.blocks;
      const std::int64_t pixel = cut.first_pixel(at);
      block.pixels = (at + 1 == cut.blocks ? cut.pixels : cut.first_pixel(at + 1)) - pixel;
      block.panel_begin = part * cut.panels / cut.parts, block.panel_end = (part + 1) * cut.panels / cut.parts;
      block.x = x_of(unit);
      block.ahead = far && unit + 1 < end ? x_of(unit + 1) : nullptr;
      const std::int64_t y = image * s.oc * cut.pixels + pixel;
      block.y = args.output<float>() + y;
      if (from.residual >= 0) block.residual = args.input<float>(static_cast<std::size_t>(from.residual)) + y;
      cut.functions.run(block);
    }
  });
}

Runner prepare(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache& weights) {
  auto state = std::make_shared<State>();
  State& to = *state;
  to.shape = std::get<Conv2dShape>(read_conv2d(problem));
  to.cut = cut_work(to.shape, info.isa, problem.threads);
  const Flush flush{!problem.exact};
  to.weights =
      weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                  fmt::format("pointwise panels={} of {} flush={}", to.cut.panels, to.cut.functions.width, flush.on),
                  [&](const Array& array) { return pack(array, to.shape, to.cut, flush); });
  to.bias.assign(static_cast<std::size_t>(to.shape.oc + to.cut.functions.width), 0.0f);
  if (problem.node.op_inputs() > 2 && problem.has(2)) {
    const std::vector<double> bias = problem.constant(2)->to_double();
    std::transform(bias.begin(), bias.end(), to.bias.begin(), [](double v) { return static_cast<float>(v); });
  }
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  to.epilogue = dense_epilogue(epilogue);
  to.residual = epilogue.residual;
  return [state](const StepArgs& args) { run(*state, args); };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, int rows, int columns) {
  return {{.name = name, .op = Conv::kName, .isa = isa, .m = rows, .n = columns, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("pointwise_f32_14x32_avx512", Isa::avx512, 14, 32),
    kernel("pointwise_f32_6x16_avx2", Isa::avx2, 6, 16),
#endif
    kernel("pointwise_f32_4x8_portable", Isa::portable, 4, 8),
};

}  // namespace

std::span<const CpuKernel> pointwise_kernels() { return kKernels; }

}  // namespace tessera::cpu
