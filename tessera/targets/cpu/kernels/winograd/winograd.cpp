// 3x3 convolutions of stride 1 by Winograd's algorithm (winograd.h). Inputs are taken in the order in which
// they are there; results of winograd_* have their channels last, those of winograd_planes_* are row-major.
//
// Tiles go through three stages in blocks: inputs are transformed to v, each of the t*t places of v is multiplied with
// the weights of that place by the dense engine's tiles, and products m are transformed to results. Many tiles: each
// thread takes blocks through all stages, with v and m in its own cache. Few tiles: all threads work on one block stage
// by stage and share out the weights, so that each is read once.

#include "tessera/targets/cpu/kernels/winograd/winograd.h"

#include "tessera/core/error.h"
#include "tessera/targets/cpu/kernels/dense/conv2d.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kFarBytes = 8 << 20;  // planes of more are fetched ahead: measured 30% of a transform
constexpr std::int64_t kVector = 16;         // rows of v are padded to so many elements, whatever the instruction set

// Operations on vectors in one tile's transforms, loads and stores among them, for each channel.
struct TransformCost {
  double input, output;
};
constexpr TransformCost transform_cost(std::int64_t m) {
  return m == 2 ? TransformCost{64, 56} : m == 4 ? TransformCost{216, 190} : TransformCost{512, 440};
}

// More of them for row-major values, for so many rows of a tile: what transposes two rows of 8 neighbours in 16
// planes.
constexpr double planes_cost(std::int64_t rows) { return 48.0 * static_cast<double>(rows); }

// How the work is cut.
struct WinogradSplit {
  const DenseKernel* gemm = nullptr;
  std::int64_t m = 2, places = 16;                   // places = (m + 2)^2
  std::int64_t tiles_h = 0, tiles_w = 0, tiles = 0;  // tiles: over all images
  std::int64_t panels = 0;
  std::int64_t block = 0;                                         // tiles at a time
  std::int64_t group = 0;                                         // panels of weights whose products wait in m together
  bool shared = false;                                            // all threads work on one block
  std::int64_t slots = 1;                                         // blocks at the same time
  std::int64_t v_tile = 0, v_place = 0, m_tile = 0, m_place = 0;  // strides, elements

  std::int64_t slot_elements() const { return places * (v_place + m_place); }
  std::int64_t slot_bytes() const { return round_up(slot_elements() * 4, 64); }
  std::int64_t scratch_bytes() const { return Slots::bytes(slots, slot_bytes()); }
};

// What a byte costs that passes the second cache, in bytes of v or m read back: written first, it is fetched, changed
// and evicted. Weights are read in order, which the processor sees coming. Fitted to VGG's layers on Zen 4.
constexpr double kWritten = 3, kStreamed = 0.5;

// Bytes, weighed so, that one tile moves beyond the second cache when `block` tiles and `group` panels are worked on at
// a time.
double outer_bytes(const WinogradSplit& cut, const Conv2dShape& s, std::int64_t block, std::int64_t group,
                   double cache_bytes) {
  const double v = static_cast<double>(cut.places * cut.v_tile * 4);
  const double columns = static_cast<double>(cut.gemm->columns), panels = static_cast<double>(cut.panels);
  const double m = static_cast<double>(cut.places) * panels * columns * 4;
  const double u = static_cast<double>(cut.places * s.ic) * panels * columns * 4;
  const double n = static_cast<double>(block), passes = panels / static_cast<double>(group);
  const double held_m = n * m / passes;
  double bytes = 0;
  const bool v_fits = n * v + std::min(held_m, cache_bytes / 3) < 0.7 * cache_bytes;
  if (!v_fits) bytes += v * (kWritten + passes);
  if (held_m > cache_bytes / 3) bytes += m * (kWritten + 1);
  if (u > cache_bytes / 3 || !v_fits) bytes += kStreamed * u / n;  // once for all tiles too much: see choose_cut()
  return bytes;
}

void set_strides(WinogradSplit& cut, const Conv2dShape& s) {
  // Rows a multiple of 4 KiB apart would share a set of the first cache; so would the places.
  cut.v_tile = round_up(s.ic, kVector);
  if (cut.v_tile % 256 == 0) cut.v_tile += kVector;
  cut.m_tile = cut.group * cut.gemm->columns;
  if (cut.m_tile % 256 == 0) cut.m_tile += kVector;
  cut.v_place = cut.block * cut.v_tile + kVector;
  cut.m_place = cut.block * cut.m_tile + kVector;
}

const DenseKernel& gemm_for(Isa isa, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  const DenseKernel* best = nullptr;
  double best_efficiency = 0;
  for (const DenseKernel& kernel : dense_kernels()) {
    if (kernel.isa != isa || kernel.type != ElementType::float32) continue;
    const double efficiency = dense_efficiency(kernel, rows, columns, kVector, 1, depth);
    if (best == nullptr || efficiency > best_efficiency) best = &kernel, best_efficiency = efficiency;
  }
  check(best != nullptr, Code::internal, "no tile of the dense engine for {}", name(isa));
  return *best;
}

struct Choice {
  WinogradSplit cut;
  double outer_bytes = 0;  // of all tiles together
};

Choice choose_cut(const Conv2dShape& s, std::int64_t m, Isa isa, const CpuSpec& machine, int threads) {
  WinogradSplit cut;
  cut.m = m;
  cut.places = (m + 2) * (m + 2);
  cut.tiles_h = ceil_div(s.oh, m), cut.tiles_w = ceil_div(s.ow, m), cut.tiles = s.n * cut.tiles_h * cut.tiles_w;
  cut.gemm = &gemm_for(isa, cut.tiles, s.oc, s.ic);
  cut.panels = ceil_div(s.oc, cut.gemm->columns);
  cut.v_tile = round_up(s.ic, kVector);
  const double cache = static_cast<double>(std::max<std::int64_t>(machine.l2_bytes, 256 << 10));
  const double tiles = static_cast<double>(cut.tiles);
  const double v_and_m = static_cast<double>(cut.places * (cut.v_tile + cut.panels * cut.gemm->columns)) * 4;

  // All threads on one block: weights are read once for all, everything else goes through the third cache. (That they
  // are read at all is counted by the caller.)
  constexpr double kMostShared = 16 << 20;
  Choice best;
  best.outer_bytes = std::numeric_limits<double>::infinity();
  if (tiles * v_and_m <= kMostShared) {
    best.outer_bytes = (kWritten + 1) * tiles * v_and_m;
    best.cut = cut;
    best.cut.shared = true;
    best.cut.block = cut.tiles;
    best.cut.group = cut.panels;
  }
  for (std::int64_t wanted = cut.gemm->rows; wanted <= 32 * cut.gemm->rows; wanted += cut.gemm->rows) {
    // Blocks as even as can be, and as many for each thread.
    std::int64_t blocks = round_up(ceil_div(cut.tiles, wanted), threads);
    if (cut.tiles <= dense_few(static_cast<int>(cut.gemm->rows))) blocks = 1;
    const std::int64_t block = ceil_div(cut.tiles, blocks);
    for (std::int64_t group = 1; group <= cut.panels;
         group = group < cut.panels ? std::min(2 * group, cut.panels) : cut.panels + 1) {
      const double busy = tiles / static_cast<double>(blocks * block);
      const double bytes = outer_bytes(cut, s, block, group, cache) * tiles / busy;
      if (bytes >= best.outer_bytes) continue;
      best.outer_bytes = bytes;
      best.cut = cut;
      best.cut.block = block;
      best.cut.group = group;
      best.cut.slots = std::min<std::int64_t>({threads, ceil_div(cut.tiles, block), Slots::kMost});
    }
    if (wanted >= cut.tiles) break;
  }
  set_strides(best.cut, s);
  return best;
}

std::optional<std::string> refuse_epilogue_pool(const Epilogue& epilogue, const Conv2dShape& s) {
  if (epilogue.pool == nullptr) return std::nullopt;
  if (auto reason = refuse_pool(*epilogue.pool, s)) return reason;
  const PoolShape p = read_pool(*epilogue.pool, s);
  const bool pairs = p.kh == 2 && p.kw == 2 && p.stride_h == 2 && p.stride_w == 2 && p.dilation_h == 1 &&
                     p.dilation_w == 1 && p.top == 0 && p.left == 0 && 2 * p.oh <= s.oh && 2 * p.ow <= s.ow;
  if (!pairs) return "the fused pool is not 2x2 of stride 2 inside the result";
  return std::nullopt;
}

Answer consider(const KernelInfo& info, const Problem& problem) {
  const auto read = read_conv2d(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const Conv2dShape& s = std::get<Conv2dShape>(read);
  if (s.kh != 3 || s.kw != 3) return Refusal{fmt::format("a kernel of {}x{}, not 3x3", s.kh, s.kw)};
  if (s.stride_h != 1 || s.stride_w != 1) return Refusal{fmt::format("strides {}x{}", s.stride_h, s.stride_w)};
  if (s.dilation_h != 1 || s.dilation_w != 1)
    return Refusal{fmt::format("dilations {}x{}", s.dilation_h, s.dilation_w)};
  if (s.groups != 1) return Refusal{fmt::format("{} groups", s.groups)};
  if (*info.result == Order::row_major)
    if (auto refusal = refuse_inner_planes(problem)) return *refusal;
  if (auto refusal = refuse_operands(info, problem)) return *refusal;
  const auto read_fused = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read_fused)) return *refusal;
  const Epilogue& epilogue = std::get<Epilogue>(read_fused);
  if (auto reason = refuse_epilogue_pool(epilogue, s)) return Refusal{*reason};

  // Estimates are for all cores, whatever the number of threads (see estimate()).
  const Choice choice =
      choose_cut(s, info.m, info.isa, problem.machine.cpu(), std::max(1, problem.machine.cpu().cores));
  const WinogradSplit& cut = choice.cut;
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = problem.orders[0];
  if (epilogue.residual >= 0) offer.inputs[static_cast<std::size_t>(epilogue.residual)] = *info.result;
  offer.outputs = {*info.result};
  set_wide(offer, epilogue);
  offer.scratch_bytes = choose_cut(s, info.m, info.isa, problem.machine.cpu(), problem.threads).cut.scratch_bytes();

  const Work w = work(problem.graph, problem.node);
  const double tiles = static_cast<double>(cut.tiles), channels = static_cast<double>(s.ic),
               columns = static_cast<double>(cut.panels * cut.gemm->columns), places = static_cast<double>(cut.places);
  const double weight_bytes = static_cast<double>(s.ic * s.oc * 9 * 4), u_bytes = places * channels * columns * 4;
  TransformCost cost = transform_cost(cut.m);
  if (offer.inputs[0] == Order::row_major) cost.input += planes_cost(cut.m + 2);
  if (offer.outputs[0] == Order::row_major) cost.output += planes_cost(cut.m);
  // In multiply-adds' time: transforms issue at half the rate.
  const CpuSpec& machine = problem.machine.cpu();
  const double products = 2 * places * tiles * channels * columns;
  const double spills = info.isa >= Isa::avx512 ? 1 : 1.5;  // tiles in 16 registers
  const double transforms = 4 * spills * tiles * (cost.input * channels + cost.output * columns);
  const double efficiency = dense_efficiency(*cut.gemm, cut.shared ? cut.tiles : cut.block, s.oc, kVector, 1, s.ic);
  const double outer = choice.outer_bytes * machine.f32_flop_per_s / std::max(1.0, machine.l3_read_bytes_per_s);
  offer.estimate = estimate(problem, info.isa, products + (transforms + outer) * efficiency,
                            w.read_bytes - weight_bytes + u_bytes + w.write_bytes, efficiency);
  return offer;
}

struct State {
  Conv2dShape shape;
  WinogradSplit cut;
  WinogradInputFn input = nullptr;
  WinogradOutputFn output = nullptr;
  std::shared_ptr<const PackedWeights> weights;
  std::vector<float> bias, zeros;
  DenseEpilogue epilogue, plain;
  int residual = -1;
  bool pools = false;
  PoolShape pool;
};

WinogradInput input_of(const State& from, const float* x, float* slot, std::int64_t first) {
  const Conv2dShape& s = from.shape;
  const WinogradSplit& cut = from.cut;
  WinogradInput job;
  job.x = x;
  job.height = s.h, job.width = s.w, job.channels = s.ic, job.pixel = s.x_pixel, job.top = s.top, job.left = s.left;
  job.tiles_h = cut.tiles_h, job.tiles_w = cut.tiles_w;
  job.zeros = from.zeros.data();
  job.first = first;
  job.far = s.n * s.h * s.w * s.ic * 4 > kFarBytes;
  job.v = slot;
  job.place_stride = cut.v_place, job.tile_stride = cut.v_tile;
  return job;
}

WinogradOutput output_of(const State& from, const StepArgs& args, const float* slot, std::int64_t first,
                         std::int64_t panel_begin, std::int64_t panel_end) {
  const Conv2dShape& s = from.shape;
  const WinogradSplit& cut = from.cut;
  WinogradOutput job;
  job.m = slot + cut.places * cut.v_place;
  job.place_stride = cut.m_place, job.tile_stride = cut.m_tile;
  job.first = first;
  job.tiles_h = cut.tiles_h, job.tiles_w = cut.tiles_w;
  job.height = s.oh, job.width = s.ow, job.channels = s.oc;
  job.pixel = s.y_pixel, job.residual_pixel = s.residual_pixel;
  job.column_begin = panel_begin * cut.gemm->columns;
  job.column_end = std::min(panel_end * cut.gemm->columns, s.oc);
  job.bias = from.bias.empty() ? nullptr : from.bias.data();
  job.residual = from.residual >= 0 ? args.input<float>(static_cast<std::size_t>(from.residual)) : nullptr;
  job.epilogue = &from.epilogue;
  job.pools = from.pools;
  job.pool_height = from.pool.oh, job.pool_width = from.pool.ow;
  job.far = s.n * s.oh * s.ow * s.oc * 4 > kFarBytes;
  job.y = args.output<float>();
  return job;
}

// m[place] = v[place] u[place] for `tiles` tiles and panels [panel_begin, panel_end), which lie in m from the first
// column of `group_begin` on.
void multiply(const State& from, float* slot, std::int64_t place, std::int64_t tiles, std::int64_t panel_begin,
              std::int64_t panel_end, std::int64_t group_begin) {
  const WinogradSplit& cut = from.cut;
  const DenseKernel& kernel = *cut.gemm;
  const std::int64_t channels = from.shape.ic, panel_elements = channels * kernel.columns;
  const float* v = slot + place * cut.v_place;
  float* m = slot + cut.places * cut.v_place + place * cut.m_place + (panel_begin - group_begin) * kernel.columns;
  const auto* u =
      reinterpret_cast<const float*>(from.weights->data()) + (place * cut.panels + panel_begin) * panel_elements;
  constexpr std::int64_t kMostRows = 32;
  const void* rows[kMostRows];
  void* y[kMostRows];
  DenseTile tile;
  tile.rows = rows;
  tile.few = cut.tiles <= dense_few(static_cast<int>(kernel.rows));
  tile.taps = 1;
  tile.depth = channels;
  tile.panel_elements = panel_elements;
  tile.y = y;
  tile.epilogue = &from.plain;
  // Columns that do not exist have weights 0: whole vectors of them are cheaper than parts.
  const std::int64_t columns =
      std::min(panel_end * kernel.columns, round_up(from.shape.oc, kernel.width)) - panel_begin * kernel.columns;
  constexpr std::int64_t kHeldBytes = 320 << 10;  // of weights, while tiles pass by
  const std::int64_t step = std::clamp<std::int64_t>(kHeldBytes / (panel_elements * 4), 1, panel_end - panel_begin);
  const std::int64_t parts = ceil_div(tiles, kernel.rows);
  for (std::int64_t panel = 0; panel < panel_end - panel_begin; panel += step) {
    tile.weights = u + panel * panel_elements;
    tile.columns = std::min(step * kernel.columns, columns - panel * kernel.columns);
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t begin = part * tiles / parts, end = (part + 1) * tiles / parts;
      for (std::int64_t t = begin; t < end; ++t) {
        rows[t - begin] = v + t * cut.v_tile;
        y[t - begin] = m + t * cut.m_tile + panel * kernel.columns;
      }
      tile.count = end - begin;
      kernel.tile(tile);
    }
  }
}

void run_shared(const State& from, const StepArgs& args, float* slot) {
  const WinogradSplit& cut = from.cut;
  const WinogradInput input = input_of(from, args.input<float>(0), slot, 0);
  parallel_for(cut.tiles, 1, [&](std::int64_t begin, std::int64_t end) { from.input(input, begin, end); });
  // Threads share out places; where those are few for them, panels too.
  parallel_for(cut.places, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t place = begin; place < end; ++place) multiply(from, slot, place, cut.tiles, 0, cut.panels, 0);
  });
  const WinogradOutput output = output_of(from, args, slot, 0, 0, cut.panels);
  parallel_for(cut.tiles, 1, [&](std::int64_t begin, std::int64_t end) { from.output(output, begin, end); });
}

void run_block(const State& from, const StepArgs& args, float* slot, std::int64_t first) {
  const WinogradSplit& cut = from.cut;
  const std::int64_t last = std::min(first + cut.block, cut.tiles);
  from.input(input_of(from, args.input<float>(0), slot, first), first, last);
  for (std::int64_t panel = 0; panel < cut.panels; panel += cut.group) {
    const std::int64_t end = std::min(panel + cut.group, cut.panels);
    for (std::int64_t place = 0; place < cut.places; ++place)
      multiply(from, slot, place, last - first, panel, end, panel);
    from.output(output_of(from, args, slot, first, panel, end), first, last);
  }
}

void run(const State& from, const StepArgs& args) {
  const WinogradSplit& cut = from.cut;
  const Slots slots(args.scratch, cut.slots, cut.slot_bytes());
  if (cut.shared) {
    const Slots::Held slot(slots);
    run_shared(from, args, reinterpret_cast<float*>(slot.data()));
    return;
  }
  parallel_for(ceil_div(cut.tiles, cut.block), 1, [&](std::int64_t begin, std::int64_t end) {
    const Slots::Held slot(slots);
    for (std::int64_t block = begin; block < end; ++block)
      run_block(from, args, reinterpret_cast<float*>(slot.data()), block * cut.block);
  });
}

PackedWeights pack(const Array& weights, const Conv2dShape& s, const WinogradSplit& cut, WinogradWeightsFn transform) {
  PackedWeights packed(static_cast<std::size_t>(cut.places * s.ic * cut.panels * cut.gemm->columns) * 4);
  WinogradWeights job;
  job.w = reinterpret_cast<const float*>(weights.bytes().data());
  job.channels = s.ic, job.columns = s.oc, job.panel_columns = cut.gemm->columns;
  job.u = reinterpret_cast<float*>(packed.data());
  parallel_for(cut.panels, 1, [&](std::int64_t begin, std::int64_t end) { transform(job, begin, end); });
  return packed;
}

Runner prepare(const KernelInfo& info, const Problem& problem, const Offer& offer, WeightCache& weights) {
  auto state = std::make_shared<State>();
  State& to = *state;
  to.shape = std::get<Conv2dShape>(read_conv2d(problem));
  to.cut = choose_cut(to.shape, info.m, info.isa, problem.machine.cpu(), problem.threads).cut;
  const WinogradFunctions functions = TSR_FOR_ISA(info.isa, winograd)(info.m);
  to.input = functions.input[static_cast<std::size_t>(offer.inputs[0])];
  to.output = functions.output[static_cast<std::size_t>(offer.outputs[0])];
  to.weights = weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                           fmt::format("winograd m={} columns={}", to.cut.m, to.cut.gemm->columns),
                           [&](const Array& array) { return pack(array, to.shape, to.cut, functions.weights); });
  if (problem.node.op_inputs() > 2 && problem.has(2)) to.bias = pack_bias(*problem.constant(2), 1, *to.cut.gemm);
  to.zeros.assign(static_cast<std::size_t>(to.shape.ic), 0.0f);
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  to.epilogue = dense_epilogue(epilogue);
  to.plain = dense_epilogue(Epilogue{});
  to.residual = epilogue.residual;
  to.pools = epilogue.pool != nullptr;
  if (to.pools) to.pool = read_pool(*epilogue.pool, to.shape);
  return [state](const StepArgs& args) { run(*state, args); };
}

// Measured on random layers next to sums of the definition's products, largest error by largest error: up to 0.7, 2 and
// 22 times for m = 2, 4 and 6, the most with few channels. (The bound for the worst of inputs is far away: 7, 84 and
// 509 times.)
constexpr double rounding(int m) { return m == 2 ? 2 : m == 4 ? 4 : 32; }

constexpr Order kLast = Order::channels_last, kPlanes = Order::row_major;  // of results

constexpr CpuKernel kernel(std::string_view name, int m, Isa isa, Order result) {
  return {{.name = name,
           .op = Conv::kName,
           .isa = isa,
           .m = m,
           .n = m,
           .result = result,
           .rounding = rounding(m),
           .consider = consider},
          prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("winograd_f32_6x6_avx512", 6, Isa::avx512, kLast),
    kernel("winograd_planes_f32_6x6_avx512", 6, Isa::avx512, kPlanes),
    kernel("winograd_f32_4x4_avx512", 4, Isa::avx512, kLast),
    kernel("winograd_planes_f32_4x4_avx512", 4, Isa::avx512, kPlanes),
    kernel("winograd_f32_2x2_avx512", 2, Isa::avx512, kLast),
    kernel("winograd_planes_f32_2x2_avx512", 2, Isa::avx512, kPlanes),
    kernel("winograd_f32_6x6_avx2", 6, Isa::avx2, kLast),
    kernel("winograd_planes_f32_6x6_avx2", 6, Isa::avx2, kPlanes),
    kernel("winograd_f32_4x4_avx2", 4, Isa::avx2, kLast),
    kernel("winograd_planes_f32_4x4_avx2", 4, Isa::avx2, kPlanes),
    kernel("winograd_f32_2x2_avx2", 2, Isa::avx2, kLast),
    kernel("winograd_planes_f32_2x2_avx2", 2, Isa::avx2, kPlanes),
#endif
    kernel("winograd_f32_6x6", 6, Isa::portable, kLast),
    kernel("winograd_planes_f32_6x6", 6, Isa::portable, kPlanes),
    kernel("winograd_f32_4x4", 4, Isa::portable, kLast),
    kernel("winograd_planes_f32_4x4", 4, Isa::portable, kPlanes),
    kernel("winograd_f32_2x2", 2, Isa::portable, kLast),
    kernel("winograd_planes_f32_2x2", 2, Isa::portable, kPlanes),
};

}  // namespace

std::span<const CpuKernel> winograd_kernels() { return kKernels; }

}  // namespace tessera::cpu
