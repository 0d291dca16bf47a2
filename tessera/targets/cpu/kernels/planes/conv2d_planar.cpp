// Convolutions whose input and result keep their planes apart (row_major), on the tiles of the dense engine: a row is
// an output channel, a column an output pixel. Weights are read as they are; what some pixels see is packed into a
// panel in the second cache, just before all output channels use it. No conversion to channels last and back: for
// networks of a single layer, and for the last one of others.
//
// What bounds it: the multiply-adds. Packing copies each element of the input once for each tap of the window, against
// as many products as there are output channels.

#include "tessera/targets/cpu/kernels/dense/conv2d.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/flush.h"
#include "tessera/targets/cpu/kernels/planes/planar_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kPanelBytes = 512 << 10;  // of the second cache
constexpr std::int64_t kUnitsPerThread = 4;
constexpr std::int64_t kPartRows = 64;  // output channels that are worth a panel
constexpr std::int64_t kMaxTileRows = 28;
constexpr double kTogether = 0.85;  // of a tile's efficiency, with panels that are made between products: measured
constexpr std::int64_t kUnitProducts = 1 << 15;  // fewer multiply-adds take less time than waking a thread

std::int64_t reduction_of(const Conv2dShape& s) { return s.ic * s.kh * s.kw; }

// Rows of weights, with the bias behind each; an odd number of cache lines, so that they fall into different sets.
std::int64_t row_elements(const Conv2dShape& s) {
  const std::int64_t lines = ceil_div(reduction_of(s) + 1, 16);
  return (lines % 2 == 0 ? lines + 1 : lines) * 16;
}

std::int64_t panel_bytes(const Conv2dShape& s, const DenseKernel& kernel) {
  return round_up((reduction_of(s) + 1) * kernel.columns * 4, 64);
}

// Panels of all images, times parts of the output channels; chunks of them have a panel of scratch each.
struct Units {
  std::int64_t panels, parts, part_rows, count, chunks;

  Units(const Conv2dShape& s, const DenseKernel& kernel, int threads) {
    panels = ceil_div(s.oh * s.ow, kernel.columns);
    const std::int64_t wanted = threads > 1 ? threads * kUnitsPerThread : 1;
    parts = std::clamp<std::int64_t>(ceil_div(wanted, s.n * panels), 1, std::max<std::int64_t>(1, s.oc / kPartRows));
    part_rows = round_up(ceil_div(s.oc, parts), kernel.rows);
    parts = ceil_div(s.oc, part_rows);
    count = s.n * panels * parts;
    const std::int64_t products = s.n * s.oh * s.ow * s.oc * reduction_of(s);
    chunks = std::clamp<std::int64_t>(std::min(wanted, products / kUnitProducts), 1, count);
  }
};

Answer consider(const KernelInfo& info, const Problem& problem) {
  const auto read = read_conv2d(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const Conv2dShape& s = std::get<Conv2dShape>(read);
  if (auto refusal = refuse_operands(info, problem)) return *refusal;
  if (auto refusal = refuse_inner_planes(problem)) return *refusal;
  if (s.groups != 1) return Refusal{fmt::format("{} groups", s.groups)};
  const auto read_fused = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read_fused)) return *refusal;
  if (std::get<Epilogue>(read_fused).pool != nullptr) return Refusal{"a pool is fused"};
  const DenseKernel& kernel = dense_kernel(info);
  if (panel_bytes(s, kernel) > kPanelBytes)
    return Refusal{fmt::format("a panel would have {} bytes, more than {}", panel_bytes(s, kernel), kPanelBytes)};

  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  offer.scratch_bytes = Units(s, kernel, problem.threads).chunks * panel_bytes(s, kernel);
  const Work w = work(problem.graph, problem.node);
  // Vectors are copied in about so many cycles; each is used by every output channel in one.
  const double copy = s.stride_w <= 2 ? 5 : 24;
  const double packing = kTogether * static_cast<double>(s.oc) / (static_cast<double>(s.oc) + copy);
  offer.estimate = dense_estimate(problem, info, w, packing * dense_efficiency(kernel, s.oc, s.oh * s.ow, 1));
  return offer;
}

struct State {
  Conv2dShape shape;
  PlanarShape planar;
  const DenseKernel* kernel = nullptr;
  DenseEpilogue epilogue;
  std::shared_ptr<const PackedWeights> weights;
  std::vector<float> bias;
  std::int64_t row_elements = 0;
  int residual = -1;
  std::int64_t panel_bytes = 0;
  decltype(&portable::pack_pixels) pack = nullptr;
};

// Weights as rows, each with its bias behind it.
PackedWeights pack_rows(const Array& weights, const Conv2dShape& s, const std::vector<float>& bias, Flush flush) {
  const std::int64_t reduction = reduction_of(s), step = row_elements(s);
  PackedWeights packed(static_cast<std::size_t>(s.oc * step) * sizeof(float));
  auto* to = reinterpret_cast<float*>(packed.data());
  const auto* from = weights.as<float>().data();
  for (std::int64_t oc = 0; oc < s.oc; ++oc, to += step) {
    std::transform(from + oc * reduction, from + (oc + 1) * reduction, to, flush);
    std::fill(to + reduction, to + step, 0.0f);
    if (!bias.empty()) to[reduction] = bias[static_cast<std::size_t>(oc)];
  }
  return packed;
}

void run_units(const State& state, const Units& units, const StepArgs& args, std::int64_t begin, std::int64_t end,
               float* panel) {
  const Conv2dShape& s = state.shape;
  const DenseKernel& kernel = *state.kernel;
  const std::int64_t reduction = reduction_of(s), pixels = s.oh * s.ow;
  const auto* weights = reinterpret_cast<const float*>(state.weights->data());
  const float* residual = state.residual < 0 ? nullptr : args.input<float>(static_cast<std::size_t>(state.residual));
  const void* rows[kMaxTileRows];
  void* y[kMaxTileRows];
  const void* more[kMaxTileRows];
  DenseTile tile;
  tile.rows = rows;
  tile.taps = 1;
  tile.depth = state.bias.empty() ? reduction : reduction + 1;
  tile.weights = panel;
  tile.y = y;
  tile.residual = residual == nullptr ? nullptr : more;
  tile.epilogue = &state.epilogue;
  if (!state.bias.empty())
    std::fill(panel + reduction * kernel.columns, panel + (reduction + 1) * kernel.columns, 1.0f);
  for (std::int64_t unit = begin, packed = -1; unit < end; ++unit) {
    const std::int64_t of_all = unit / units.parts, image = of_all / units.panels;
    const std::int64_t first = of_all % units.panels * kernel.columns;
    tile.columns = std::min(kernel.columns, pixels - first);
    if (of_all != packed)
      state.pack(state.planar, args.input<float>(0) + image * s.ic * s.h * s.w, first, tile.columns, kernel.columns,
                 panel);
    packed = of_all;
    const std::int64_t row_begin = unit % units.parts * units.part_rows,
                       row_end = std::min(row_begin + units.part_rows, s.oc);
    for (std::int64_t row = row_begin; row < row_end; row += tile.count) {
      tile.count = std::min(kernel.rows, row_end - row);
      for (std::int64_t m = 0; m < tile.count; ++m) {
        const std::int64_t at = (image * s.oc + row + m) * pixels + first;
        rows[m] = weights + (row + m) * state.row_elements;
        y[m] = args.output<float>() + at;
        if (residual != nullptr) more[m] = residual + at;
      }
      kernel.tile(tile);
    }
  }
}

Runner prepare(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache& weights) {
  auto state = std::make_shared<State>();
  const DenseKernel& kernel = dense_kernel(info);
  state->shape = std::get<Conv2dShape>(read_conv2d(problem));
  const Conv2dShape& s = state->shape;
  state->planar = {s.ic, s.h, s.w, s.ow, s.kh, s.kw, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w, s.top, s.left};
  state->kernel = &kernel;
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  state->epilogue = dense_epilogue(epilogue);
  state->residual = epilogue.residual;
  if (problem.node.op_inputs() > 2 && problem.has(2)) {
    const std::vector<double> values = problem.constant(2)->to_double();
    state->bias.assign(values.begin(), values.end());
  }
  state->row_elements = row_elements(s);
  const Flush flush{!problem.exact};
  // The bias lies with the weights: it is part of what tells them from others.
  const std::string_view bias(reinterpret_cast<const char*>(state->bias.data()), state->bias.size() * sizeof(float));
  state->weights = weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                               fmt::format("planar_conv2d flush={} bias={}", flush.on, bias),
                               [&](const Array& array) { return pack_rows(array, s, state->bias, flush); });
  state->panel_bytes = panel_bytes(s, kernel);
  state->pack = TSR_FOR_ISA(info.isa, pack_pixels);
  const Units units(s, kernel, problem.threads);
  return [state, units](const StepArgs& args) {
    parallel_for(units.chunks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk)
        run_units(*state, units, args, units.count * chunk / units.chunks, units.count * (chunk + 1) / units.chunks,
                  reinterpret_cast<float*>(args.scratch + chunk * state->panel_bytes));
    });
  };
}

constexpr CpuKernel kKernels[] = {
#define M(storage, isa)
#define TSR_PLANAR_f32(rows, columns, set) TSR_DENSE_KERNEL("planar_conv2d", Conv, f32, rows, columns, set)
#define TSR_PLANAR_bf16(rows, columns, set)
#define K(storage, rows, columns, set, vectors) TSR_PLANAR_##storage(rows, columns, set)
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef K
#undef M
};

}  // namespace

std::span<const CpuKernel> conv2d_planar_kernels() { return kKernels; }

}  // namespace tessera::cpu
