#include "tessera/targets/cuda/kernels/conv2d/conv2d_table.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr bool patch = true, gather = false;  // as the table writes them

constexpr Conv2dRow kRows[] = {
#define TSR_CONV2D(MODE, PIXELS, OC, STAGES, MULTICAST)                                   \
  {"conv2d_f16_" #MODE "_" #PIXELS "x" #OC "_m" #MULTICAST "_sm90", ElementType::float16, \
   Conv2dTiling{MODE, PIXELS / 64, OC, STAGES, MULTICAST}},
#include "tessera/targets/cuda/kernels/conv2d/conv2d_rows.def"
#undef TSR_CONV2D
#define TSR_CONV2D(MODE, PIXELS, OC, STAGES, MULTICAST)                                     \
  {"conv2d_bf16_" #MODE "_" #PIXELS "x" #OC "_m" #MULTICAST "_sm90", ElementType::bfloat16, \
   Conv2dTiling{MODE, PIXELS / 64, OC, STAGES, MULTICAST}},
#include "tessera/targets/cuda/kernels/conv2d/conv2d_rows.def"
#undef TSR_CONV2D
#define TSR_CONV2D(MODE, PIXELS, OC, STAGES, MULTICAST)                                    \
  {"conv2d_tf32_" #MODE "_" #PIXELS "x" #OC "_m" #MULTICAST "_sm90", ElementType::float32, \
   Conv2dTiling{MODE, PIXELS / 64, OC, STAGES, MULTICAST}},
#include "tessera/targets/cuda/kernels/conv2d/conv2d_rows.def"
#undef TSR_CONV2D
    {"conv2d_f32_exact_128x128", ElementType::float32, std::nullopt, 128},
    {"conv2d_f32_exact_128x64", ElementType::float32, std::nullopt, 64},
    {"conv2d_f16_direct", ElementType::float16, std::nullopt},
    {"conv2d_bf16_direct", ElementType::bfloat16, std::nullopt},
    {"conv2d_f32_direct", ElementType::float32, std::nullopt},
};

int quotient_up(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

// --- the time model --------------------------------------------------------------------------------------------------
// Cycles of one multiprocessor, fitted to the table in bench/results (docs/cuda.md has the errors).

constexpr double kLaunchSeconds = 1.6e-6;     // from one kernel of a graph to the next, early start
constexpr double kFirstStepCycles = 1000;     // until the first tile's operands are there
constexpr double kTensorFlopPerCycle = 3500;  // of a multiprocessor; 4096 are possible
constexpr double kL2BytesPerCycle = 38;       // to one multiprocessor while all of them ask
constexpr double kMostL2BytesPerCycle = 60;   // while few ask
constexpr double kSharedBytesPerCycle = 110;  // what the tensor cores read
constexpr double kResultBytesPerCycle = 40;   // of a tile, registers to L2, while its tensor cores wait
constexpr double kTileCycles = 1600;          // of a tile besides its steps and stores
constexpr double kSplitCycles = 1200;         // two meetings of a cluster
constexpr double kPartialBytesPerCycle = 16;  // partial sums, written and read by the other blocks
constexpr double kMemoryShare = 0.65;         // of a copy's rate, where operands do not fit into L2
constexpr double kResultShare = 0.40;         // of it, that results of all multiprocessors are written at
constexpr double kFoldBytesPerSecond = 2.5e12;
constexpr double kDirectFlopPerSecond = 1.5e12;  // all of the device
constexpr double kDirectSeconds = 2e-6;          // until it has begun
constexpr double kDirectProductSeconds = 83e-9;  // one product of a thread, while few threads run
constexpr double kSustainedClock = 0.86;         // of the highest, under full load of the tensor cores

// The part of the multiprocessors that clusters of so many blocks can fill: a cluster lies within one group of 16
// or 18.
double cluster_share(int blocks) { return blocks >= 8 ? 0.78 : blocks >= 4 ? 0.85 : 1; }

struct Cost {
  double seconds;
  Conv2dBound bound;
};

Cost tile_cost(const Conv2dTiling& tiling, const Conv2dProblem& problem, const Conv2dOffer& offer, const GpuSpec& gpu) {
  const int steps = problem.kh * problem.kw * quotient_up(problem.c, problem.block_channels());
  const double rows = offer.box_n * offer.box_h * offer.box_w;
  const double pixel_bytes =
      tiling.patch ? offer.box_n * (offer.box_h + 2.0) * (offer.box_w + 2.0) * 128 / 9 : rows * 128;
  const bool resident = tiling.patch && steps <= tiling.stages && problem.oc <= tiling.oc && offer.splits == 1;
  const double weight_bytes = resident ? 0 : tiling.oc * 128.0 / tiling.multicast;
  const double tensor =
      2.0 * tiling.pixels() * tiling.oc * problem.block_channels() / (kTensorFlopPerCycle * 2 / problem.bytes());
  // Every warpgroup reads its pixels and all weights.
  const double shared = (tiling.pixels() + tiling.warpgroups * tiling.oc) * 128.0 / kSharedBytesPerCycle;
  const double asking = std::min(1.0, static_cast<double>(offer.tiles) * offer.splits / gpu.multiprocessors);
  const double l2 = (pixel_bytes + weight_bytes) / std::min(kMostL2BytesPerCycle, kL2BytesPerCycle / asking);
  const double step = std::max({tensor, shared, l2});
  const int per_multiprocessor =
      std::max(1, std::min<int>(static_cast<int>(gpu.shared_bytes / (tiling.shared_bytes() + 1024)), 2));
  const double turns =
      static_cast<double>(offer.tiles) * offer.splits / (gpu.multiprocessors * cluster_share(offer.splits));
  // Blocks that share a multiprocessor share its units; when each goes round, all of them do.
  const double waves =
      turns <= per_multiprocessor ? std::ceil(turns) : std::ceil(turns / per_multiprocessor) * per_multiprocessor;
  const double result = rows * tiling.oc * problem.bytes() / kResultBytesPerCycle / (problem.pool * problem.pool);
  const int longest = tiling.patch ? 9 * quotient_up(quotient_up(problem.c, problem.block_channels()), offer.splits)
                                   : quotient_up(steps, offer.splits);
  const double tile = longest * step + result + kTileCycles +
                      (offer.splits > 1 ? kSplitCycles + tiling.pixels() * tiling.oc * 4 / kPartialBytesPerCycle : 0);
  const double cycles = kFirstStepCycles + waves * tile;
  const double compute_seconds = cycles / (gpu.clock_hz * kSustainedClock);
  const double bytes =
      static_cast<double>(problem.x_elements() + problem.w_elements() + problem.y_elements()) * problem.bytes();
  const double memory_rate = gpu.memory_achieved_bytes_per_s.value_or(gpu.memory_bytes_per_s);
  // What all multiprocessors together write, and read of a residual, whether it stays in L2 or not.
  const double result_bytes =
      static_cast<double>(problem.y_elements() + (problem.residual ? problem.residual_elements() : 0)) *
      problem.bytes();
  const double memory_seconds =
      std::max(bytes > static_cast<double>(gpu.l2_bytes) ? bytes / (memory_rate * kMemoryShare) : 0,
               result_bytes / (memory_rate * kResultShare));
  // Of two ways that memory bounds, the one that computes less leaves it more room.
  constexpr double kOverlap = 0.9;
  const double longer = std::max(compute_seconds, memory_seconds), shorter = std::min(compute_seconds, memory_seconds);
  Cost cost{kLaunchSeconds + longer + (1 - kOverlap) * (memory_seconds > compute_seconds ? shorter : 0),
            Conv2dBound::tensor_cores};
  if (l2 >= std::max(tensor, shared)) cost.bound = Conv2dBound::l2;
  if (memory_seconds > compute_seconds) cost.bound = Conv2dBound::memory;
  if (waves * (tile - result) < kFirstStepCycles + kLaunchSeconds * gpu.clock_hz) cost.bound = Conv2dBound::latency;
  return cost;
}

// --- boxes of pixels -------------------------------------------------------------------------------------------------

struct Box {
  int n, h, w;
};

int box_tiles(const Box& box, const Conv2dProblem& problem) {
  return quotient_up(problem.n, box.n) * quotient_up(problem.oh(), box.h) * quotient_up(problem.ow(), box.w);
}

// The box of at most `pixels` pixels that needs the fewest tiles; of these the one with the least border.
Box best_box(const Conv2dTiling& tiling, const Conv2dProblem& problem) {
  const int pixels = tiling.pixels();
  std::vector<Box> boxes;
  if (tiling.patch || problem.pool == 2) {
    boxes.push_back({1, pixels / 8, 8});
    boxes.push_back({pixels / 64, 8, 8});
  } else {
    for (int w = 1; w <= std::min({pixels, problem.ow(), 256 / problem.stride[1]}); ++w) {
      const int h = std::min({pixels / w, problem.oh(), 256 / problem.stride[0]});
      const bool whole = w == problem.ow() && h == problem.oh();
      boxes.push_back({whole ? std::min(pixels / (w * h), std::max(problem.n, 1)) : 1, h, w});
    }
  }
  return *std::min_element(boxes.begin(), boxes.end(), [&](const Box& a, const Box& b) {
    return std::pair(box_tiles(a, problem), a.w + a.h) < std::pair(box_tiles(b, problem), b.w + b.h);
  });
}

// A 1x1 convolution without border or stride sees no rows: all pixels are one.
bool is_pointwise(const Conv2dProblem& problem) {
  return problem.kh == 1 && problem.kw == 1 && problem.stride == std::array{1, 1} &&
         problem.pads == std::array{0, 0, 0, 0} && problem.pool == 1 && !problem.has_phases();
}

Conv2dAnswer consider_tiles(const Conv2dRow& row, const Conv2dProblem& original, const GpuSpec& gpu, int splits) {
  using Reason = Conv2dRefusal::Reason;
  const Conv2dTiling& tiling = *row.tiling;
  if (row.rounds() && !original.tf32) return Conv2dRefusal{Reason::tf32};
  if (original.groups != 1) return Conv2dRefusal{Reason::groups, original.groups, 1};
  const int pack = original.fold_channels();
  const bool folds =
      !tiling.patch && original.c <= pack && original.kw > 1 && original.kw <= 8 && original.dilation[1] == 1;
  if (original.c % pack != 0 && !folds) return Conv2dRefusal{Reason::input_channels, original.c, pack};
  const bool long_code = tiling.patch && original.activation.curve == Curve::gelu;
  if (!row.rounds() && (long_code || !tiles_take(original.activation, original.residual)))
    return Conv2dRefusal{Reason::activation};
  if (original.has_phases() && original.y_channels() % 8 != 0)
    return Conv2dRefusal{Reason::output_channels, original.y_channels(), 8};
  if (tiling.patch && (original.kh != 3 || original.kw != 3 || original.stride != std::array{1, 1} ||
                       original.dilation != std::array{1, 1}))
    return Conv2dRefusal{Reason::window, original.kh, 3};
  if (const int stride = std::max(original.stride[0], original.stride[1]); stride > 8)
    return Conv2dRefusal{Reason::stride, stride, 8};
  if (tiling.shared_bytes() > gpu.shared_bytes - 1024)
    return Conv2dRefusal{Reason::shared_memory, tiling.shared_bytes(), gpu.shared_bytes - 1024};

  Conv2dProblem problem = original;
  Conv2dOffer best;
  best.flattened = is_pointwise(problem);
  if (best.flattened) {
    problem.w = problem.n * problem.h * problem.w;
    problem.n = problem.h = 1;
  }
  best.folded = folds;
  double fold_seconds = 0;
  if (folds) {
    const double bytes =
        16.0 * problem.n * problem.h * problem.folded_w() + static_cast<double>(problem.x_elements()) * problem.bytes();
    fold_seconds = kLaunchSeconds + bytes / kFoldBytesPerSecond;
    problem.w = problem.ow();
    problem.c = problem.block_channels();
    problem.kw = problem.stride[1] = 1;
    problem.pads[1] = problem.pads[3] = 0;
  }
  const Box box = best_box(tiling, problem);
  best.box_n = box.n, best.box_h = box.h, best.box_w = box.w;
  best.tiles =
      quotient_up(box_tiles(box, problem), tiling.multicast) * tiling.multicast * quotient_up(problem.oc, tiling.oc);
  best.seconds = std::numeric_limits<double>::infinity();
  const int steps = problem.kh * problem.kw * quotient_up(problem.c, problem.block_channels());
  const int resident_blocks =
      gpu.multiprocessors / tiling.multicast * tiling.multicast *
      std::max(1, std::min<int>(static_cast<int>(gpu.shared_bytes / (tiling.shared_bytes() + 1024)), 2));
  for (const int parts : {1, 2, 4, 8}) {
    const int shares =
        tiling.patch ? quotient_up(problem.c, problem.block_channels()) : steps;  // that a sum can be split into
    if (parts > 1 && (!tiling.takes_splits() || shares < parts)) break;
    if (splits != 0 && parts != splits) continue;
    Conv2dOffer offer = best;
    offer.splits = parts;
    offer.blocks = parts > 1 ? offer.tiles * parts : std::min(offer.tiles, resident_blocks);
    const Cost cost = tile_cost(tiling, problem, offer, gpu);
    if (cost.seconds + fold_seconds >= best.seconds) continue;
    offer.seconds = cost.seconds + fold_seconds;
    offer.bound = cost.bound;
    best = offer;
  }
  if (!std::isfinite(best.seconds)) return Conv2dRefusal{Reason::splits, splits};
  return best;
}

// Blocks of 256 threads, two on a multiprocessor at a time, that each do so much of what the units could.
Conv2dAnswer consider_exact(const Conv2dRow& row, const Conv2dProblem& problem, const GpuSpec& gpu) {
  using Reason = Conv2dRefusal::Reason;
  constexpr double kAchieved = 0.75, kFlopPerCycle = 256, kStepSeconds = 0.2e-6, kExactSeconds = 2e-6;
  if (problem.groups != 1) return Conv2dRefusal{Reason::groups, problem.groups, 1};
  if (problem.has_phases()) return Conv2dRefusal{Reason::window, problem.phases[0], 1};
  const std::int64_t results = std::int64_t{problem.n} * (problem.oh() / problem.pool) * (problem.ow() / problem.pool);
  Conv2dOffer offer;
  offer.tiles =
      quotient_up(results * problem.pool * problem.pool, kExactPixels) * quotient_up(problem.oc, row.exact_oc);
  offer.blocks = offer.tiles;
  const int steps = problem.kh * problem.kw * quotient_up(problem.c, kExactDepth);
  const double waves = std::ceil(static_cast<double>(offer.tiles) / (2.0 * gpu.multiprocessors));
  const double tile_flops = 2.0 * kExactPixels * row.exact_oc * kExactDepth * steps;
  const double computing = waves * 2 * tile_flops / (kFlopPerCycle * kAchieved * gpu.clock_hz * kSustainedClock);
  offer.seconds = kLaunchSeconds + kExactSeconds + std::max(computing, steps * kStepSeconds);
  offer.bound = computing > steps * kStepSeconds ? Conv2dBound::multipliers : Conv2dBound::latency;
  return offer;
}

}  // namespace

void check_problem(const Conv2dProblem& problem) {
  const auto all = {problem.h,         problem.w,           problem.c,          problem.oc,
                    problem.kh,        problem.kw,          problem.groups,     problem.stride[0],
                    problem.stride[1], problem.dilation[0], problem.dilation[1]};
  check(problem.n >= 0 && std::ranges::all_of(all, [](int x) { return x > 0; }), Code::invalid_argument,
        "conv2d: {}x{}x{}x{} with {}x{}x{} weights, {} groups: every size but the batch is at least 1", problem.n,
        problem.h, problem.w, problem.c, problem.oc, problem.kh, problem.kw, problem.groups);
  check(problem.c % problem.groups == 0 && problem.oc % problem.groups == 0, Code::invalid_argument,
        "conv2d: {} and {} channels do not divide into {} groups", problem.c, problem.oc, problem.groups);
  check(std::ranges::all_of(problem.pads, [](int pad) { return pad >= 0; }), Code::invalid_argument,
        "conv2d: a border cannot be negative");
  check(problem.h + problem.pads[0] + problem.pads[2] > problem.dilation[0] * (problem.kh - 1) &&
            problem.w + problem.pads[1] + problem.pads[3] > problem.dilation[1] * (problem.kw - 1),
        Code::invalid_argument, "conv2d: the {}x{} window is larger than the {}x{} image with its border", problem.kh,
        problem.kw, problem.h, problem.w);
  check(!problem.has_phases() || (problem.kh == 1 && problem.kw == 1 && problem.pool == 1 && !problem.residual &&
                                  problem.oc % (problem.phases[0] * problem.phases[1]) == 0),
        Code::invalid_argument, "conv2d: phases are of a single pixel, without residual and pooling");
  check(problem.pool == 1 || problem.pool == 2, Code::invalid_argument, "conv2d: results are pooled by 1 or 2, not {}",
        problem.pool);
  check(problem.type == ElementType::float16 || problem.type == ElementType::bfloat16 ||
            problem.type == ElementType::float32,
        Code::unsupported, "conv2d: there is no CUDA kernel for {}", name(problem.type));
}

std::span<const Conv2dRow> conv2d_rows() { return kRows; }

bool tiles_take(const Activation& activation, bool residual) {
  const bool curve = (activation.curve == Curve::silu && activation.alpha == 0) || activation.curve == Curve::gelu;
  return activation.curve == Curve::none || (curve && !residual);
}

std::string_view name(Conv2dBound bound) {
  switch (bound) {
    case Conv2dBound::tensor_cores: return "tensor cores";
    case Conv2dBound::multipliers: return "multipliers";
    case Conv2dBound::l2: return "L2";
    case Conv2dBound::memory: return "memory";
    case Conv2dBound::latency: return "latency";
  }
  return "";
}

std::string Conv2dRefusal::text() const {
  switch (reason) {
    case Reason::element_type: return "is for another element type";
    case Reason::groups: return fmt::format("{} groups, takes 1", found);
    case Reason::input_channels: return fmt::format("{} input channels are no multiple of {}", found, limit);
    case Reason::output_channels: return fmt::format("{} output channels are no multiple of {}", found, limit);
    case Reason::window: return "is for other windows";
    case Reason::stride: return fmt::format("stride {}, takes up to {}", found, limit);
    case Reason::shared_memory: return fmt::format("needs {} bytes of shared memory, a block has {}", found, limit);
    case Reason::activation: return "does not end with this activation, or not with a residual before it";
    case Reason::tf32: return "rounds factors to tf32, and results are to be exact";
    case Reason::splits: return fmt::format("its sum cannot be shared by {} blocks", found);
  }
  return "";
}

Conv2dAnswer consider(const Conv2dRow& row, const Conv2dProblem& problem, const GpuSpec& gpu, int splits) {
  if (row.type != problem.type) return Conv2dRefusal{Conv2dRefusal::Reason::element_type};
  if (row.tiling) return consider_tiles(row, problem, gpu, splits);
  if (row.exact_oc > 0) return consider_exact(row, problem, gpu);
  if (problem.has_phases()) return Conv2dRefusal{Conv2dRefusal::Reason::window, problem.phases[0], 1};
  Conv2dOffer offer;
  // A thread goes through its window product by product, each waiting for its loads.
  const double depth = static_cast<double>(problem.c / problem.groups) * problem.kh * problem.kw;
  offer.seconds =
      kLaunchSeconds + kDirectSeconds + std::max(problem.flops() / kDirectFlopPerSecond, depth * kDirectProductSeconds);
  offer.bound = Conv2dBound::l2;
  offer.blocks = static_cast<int>(
      std::min<std::int64_t>((problem.y_elements() + 255) / 256, std::int64_t{gpu.multiprocessors} * 64));
  return offer;
}

Conv2dPlan plan_conv2d(const Conv2dProblem& problem, const GpuSpec& gpu) {
  check_problem(problem);
  Conv2dPlan plan;
  for (const Conv2dRow& row : kRows) {
    const Conv2dAnswer answer = consider(row, problem, gpu);
    if (const auto* refusal = std::get_if<Conv2dRefusal>(&answer)) {
      plan.refused.push_back({&row, *refusal});
      continue;
    }
    const auto& offer = std::get<Conv2dOffer>(answer);
    if (plan.row == nullptr || offer.seconds < plan.offer.seconds) {
      if (plan.row) plan.slower.push_back({plan.row, plan.offer.seconds});
      plan.row = &row;
      plan.offer = offer;
    } else {
      plan.slower.push_back({&row, offer.seconds});
    }
  }
  return plan;
}

}  // namespace tessera::cuda
