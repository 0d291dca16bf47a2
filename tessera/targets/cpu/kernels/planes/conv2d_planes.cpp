// Convolutions of few channels, as networks begin with, that read planes (row_major) as they are: to channels last, for
// what comes next in a network, with a pool if one is fused, or to planes.

#include "tessera/targets/cpu/kernels/planes/conv2d_planes.h"

#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/dense/conv2d.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/flush.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kMostChannels = 4, kMostKernel = 7;
constexpr std::int64_t kChunkRows = 4;  // at least, for each of the chunks that threads take
constexpr double kEfficiency = 0.93;    // of the peak, for tiles that are full: measured

using RowsFn = void (*)(const Conv2dPlanesJob& job, Conv2dPlanesRing& ring, std::int64_t image, std::int64_t begin,
                        std::int64_t end);

std::int64_t lanes(Isa isa) { return isa == Isa::portable ? 4 : isa == Isa::avx2 ? 8 : 16; }

// Which of the two a kernel is: tiles of pixels times channels, or of channels times pixels.
bool to_last(const KernelInfo& kernel) { return kernel.result == Order::channels_last; }

std::int64_t panel_channels(const KernelInfo& kernel) { return to_last(kernel) ? kernel.n : kernel.m; }

// Where the parts of a chunk's scratch lie.
struct Slot {
  std::int64_t phases = 1, line = 0;  // as in Conv2dPlanesJob
  std::int64_t ring_bytes = 0, pool_rows = 0, bytes = 0;
};

Slot slot_of(const KernelInfo& kernel, const Conv2dShape& s, const Epilogue& epilogue) {
  const std::int64_t width = lanes(kernel.isa);
  Slot slot;
  slot.phases = to_last(kernel) ? 1 : s.stride_w;
  slot.line =
      to_last(kernel) ? round_up((s.ow - 1) * s.stride_w + s.kw, width) : round_up(s.ow, width) + round_up(s.kw, width);
  slot.ring_bytes = round_up(s.kh * s.ic * slot.phases * slot.line * 4, 64);
  if (epilogue.pool != nullptr) {
    const PoolShape pool = read_pool(*epilogue.pool, s);
    slot.pool_rows = std::min((pool.kh - 1) * pool.dilation_h + 1, s.oh);
  }
  slot.bytes = slot.ring_bytes + round_up(slot.pool_rows * s.ow * s.oc * 4, 64);
  return slot;
}

std::int64_t chunks_of(std::int64_t rows, int threads) {
  return threads > 1 ? std::clamp<std::int64_t>(rows / kChunkRows, 1, 4 * threads) : 1;
}

std::int64_t rows_of(const Conv2dShape& s, const Epilogue& epilogue) {
  return s.n * (epilogue.pool != nullptr ? read_pool(*epilogue.pool, s).oh : s.oh);
}

double efficiency(const KernelInfo& kernel, const Conv2dShape& s) {
  const auto full = [](std::int64_t count, std::int64_t each) {
    return static_cast<double>(count) / static_cast<double>(round_up(count, each));
  };
  if (to_last(kernel)) return kEfficiency * full(s.oc, lanes(kernel.isa));
  // What comes next in a network mostly wants channels last.
  return 0.95 * kEfficiency * full(s.ow, lanes(kernel.isa)) * full(s.oc, kernel.m);
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const auto read = read_conv2d(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const Conv2dShape& s = std::get<Conv2dShape>(read);
  if (auto refusal = refuse_operands(kernel, problem)) return *refusal;
  if (s.groups != 1) return Refusal{fmt::format("{} groups, not 1", s.groups)};
  if (s.ic > kMostChannels) return Refusal{fmt::format("{} channels, more than {}", s.ic, kMostChannels)};
  if (s.kh > kMostKernel || s.kw > kMostKernel)
    return Refusal{fmt::format("a window of {}x{}, more than {}", s.kh, s.kw, kMostKernel)};
  if (s.dilation_h != 1 || s.dilation_w != 1)
    return Refusal{fmt::format("dilation {}x{}, not 1", s.dilation_h, s.dilation_w)};
  if (s.stride_w > 2) return Refusal{fmt::format("every {}th pixel of a row, not every one or second", s.stride_w)};
  if (!all_finite(*problem.constant(1))) return Refusal{"a weight is not finite: padding is multiplied by it"};
  const auto read_fused = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read_fused)) return *refusal;
  const Epilogue& epilogue = std::get<Epilogue>(read_fused);
  if (epilogue.residual >= 0) return Refusal{"a residual sum is fused"};
  if (epilogue.pool != nullptr) {
    if (!to_last(kernel)) return Refusal{"a pool is fused"};
    if (auto reason = refuse_pool(*epilogue.pool, s)) return Refusal{*reason};
  }
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {*kernel.result};
  set_wide(offer, epilogue);
  offer.scratch_bytes = chunks_of(rows_of(s, epilogue), problem.threads) * slot_of(kernel, s, epilogue).bytes;
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w.flops, w.read_bytes + w.write_bytes, efficiency(kernel, s));
  return offer;
}

// M C kh kw into panels of channels, [panel][kh][C][kw][channel].
PackedWeights pack(const Array& weights, const Conv2dShape& s, std::int64_t panel, Flush flush) {
  const std::int64_t panels = ceil_div(s.oc, panel), reduction = s.kh * s.ic * s.kw;
  PackedWeights packed(static_cast<std::size_t>(panels * reduction * panel) * sizeof(float));
  const float* from = weights.as<float>().data();
  auto* to = reinterpret_cast<float*>(packed.data());
  for (std::int64_t p = 0; p < panels; ++p)
    for (std::int64_t ky = 0; ky < s.kh; ++ky)
      for (std::int64_t c = 0; c < s.ic; ++c)
        for (std::int64_t kx = 0; kx < s.kw; ++kx)
          for (std::int64_t i = 0; i < panel; ++i) {
            const std::int64_t o = p * panel + i;
            *to++ = o < s.oc ? flush(from[((o * s.ic + c) * s.kh + ky) * s.kw + kx]) : 0.0f;
          }
  return packed;
}

struct State {
  Conv2dShape shape;
  Conv2dPlanesJob job;
  RowsFn run = nullptr;
  std::shared_ptr<const PackedWeights> weights;
  std::vector<float> bias;
  Slot slot;
  std::int64_t rows = 0, chunks = 1;  // of the output
  bool pools = false;
  PoolShape pool;
  DenseMaxFn max = nullptr;
};

// Rows [begin, end) of the output, counted over all images.
void run_rows(const State& from, const Conv2dPlanesJob& job, std::byte* scratch, std::int64_t begin, std::int64_t end) {
  Conv2dPlanesRing ring{reinterpret_cast<float*>(scratch)};
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t image = row / from.shape.oh, first = row % from.shape.oh,
                       last = std::min(from.shape.oh, first + end - row);
    from.run(job, ring, image, first, last);
    row += last - first;
  }
}

// Likewise of the pool's output; the convolution's rows that a row of the pool sees lie in scratch.
void run_pooled_rows(const State& from, Conv2dPlanesJob job, std::byte* scratch, std::int64_t begin, std::int64_t end) {
  const Conv2dShape& conv = from.shape;
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  const PoolRing held{scratch + from.slot.ring_bytes, from.slot.pool_rows, conv.ow * conv.oc * kFloat,
                      conv.oc * kFloat};
  auto* y = reinterpret_cast<std::byte*>(job.y);
  Conv2dPlanesRing ring{reinterpret_cast<float*>(scratch)};
  job.y = reinterpret_cast<float*>(held.at), job.y_pixel = conv.oc, job.y_ring = held.rows;
  pool_rows(
      from.pool, conv, held, from.max, y, conv.y_pixel * kFloat, begin, end,
      [&](std::int64_t image, std::int64_t first, std::int64_t last) { from.run(job, ring, image, first, last); });
}

DenseMaxFn max_of(Isa isa) {
  for (const DenseKernel& kernel : dense_kernels())
    if (kernel.isa == isa && kernel.type == ElementType::float32) return kernel.max;
  return nullptr;
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache& weights) {
  auto state = std::make_shared<State>();
  State& to = *state;
  const Conv2dShape& s = to.shape = std::get<Conv2dShape>(read_conv2d(problem));
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  to.slot = slot_of(kernel, s, epilogue);
  Conv2dPlanesJob& job = to.job;
  job.ic = s.ic, job.height = s.h, job.width = s.w, job.oc = s.oc, job.out_height = s.oh, job.out_width = s.ow;
  job.kernel_h = s.kh, job.kernel_w = s.kw, job.stride_h = s.stride_h, job.stride_w = s.stride_w;
  job.top = s.top, job.left = s.left, job.phases = to.slot.phases, job.line = to.slot.line;
  job.y_pixel = s.y_pixel;
  job.epilogue = dense_epilogue(epilogue);
  const std::int64_t panel = panel_channels(kernel);
  const Flush flush{!problem.exact};
  to.weights = weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                           fmt::format("conv2d_planes channels={} flush={}", panel, flush.on),
                           [&](const Array& array) { return pack(array, s, panel, flush); });
  job.weights = reinterpret_cast<const float*>(to.weights->data());
  to.bias.assign(static_cast<std::size_t>(round_up(s.oc, panel)), 0.0f);
  if (problem.node.op_inputs() > 2 && problem.has(2)) {
    const std::vector<double> values = problem.constant(2)->to_double();
    std::transform(values.begin(), values.end(), to.bias.begin(), [](double v) { return static_cast<float>(v); });
  }
  job.bias = to.bias.data();
  to.run = to_last(kernel) ? TSR_FOR_ISA(kernel.isa, conv2d_planes_to_last)
                           : TSR_FOR_ISA(kernel.isa, conv2d_planes_to_planes);
  to.rows = rows_of(s, epilogue);
  to.chunks = chunks_of(to.rows, problem.threads);
  to.pools = epilogue.pool != nullptr;
  if (to.pools) to.pool = read_pool(*epilogue.pool, s);
  to.max = max_of(kernel.isa);
  return [state](const StepArgs& args) {
    const State& from = *state;
    Conv2dPlanesJob mine = from.job;
    mine.x = args.input<float>(0);
    mine.y = args.output<float>();
    const auto run = [&](auto&&... arguments) { from.pools ? run_pooled_rows(arguments...) : run_rows(arguments...); };
    parallel_for(from.chunks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk)
        run(from, mine, args.scratch + chunk * from.slot.bytes, chunk * from.rows / from.chunks,
            (chunk + 1) * from.rows / from.chunks);
    });
  };
}

constexpr Order kLast = Order::channels_last, kPlanes = Order::row_major;

constexpr CpuKernel kernel(std::string_view name, Isa isa, int m, int n, Order result) {
  return {{.name = name,
           .op = Conv::kName,
           .isa = isa,
           .type = ElementType::float32,
           .m = m,
           .n = n,
           .result = result,
           .consider = consider},
          prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("conv2d_planes_f32_14x32_avx512", Isa::avx512, 14, 32, kLast),
    kernel("conv2d_planes_f32_8x48_avx512", Isa::avx512, 8, 48, kPlanes),
    kernel("conv2d_planes_f32_6x16_avx2", Isa::avx2, 6, 16, kLast),
    kernel("conv2d_planes_f32_4x24_avx2", Isa::avx2, 4, 24, kPlanes),
#endif
    kernel("conv2d_planes_f32_6x8", Isa::portable, 6, 8, kLast),
    kernel("conv2d_planes_f32_4x12", Isa::portable, 4, 12, kPlanes),
};

}  // namespace

std::span<const CpuKernel> conv2d_planes_kernels() { return kKernels; }

}  // namespace tessera::cpu
