// A depthwise convolution with the convolutions beside it, row by row: [convolution ->] depthwise [-> 1x1], as the
// inverted residuals of mobile networks have them. What lies between is much wider than what enters and leaves, and is
// never written to memory: the rows of it that a window sees lie in a ring, and its result in a strip, both in the
// second cache. Threads take bands of the result; a few rows at the border of two bands are computed twice.
//
// What bounds it: the multiply-adds of the products. The inverted residuals of MobileNet v2 at 112x112 and 56x56, whose
// steps were bounded by memory one by one, run at the speed of their products.

#include "tessera/targets/cpu/kernels/dense/conv2d.h"
#include "tessera/targets/cpu/kernels/depthwise/depthwise_setup.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kStripPixels = 56;  // of the result at once, at least: so that weights are worth their loading
constexpr double kDepthwiseEfficiency = 0.3;

// One convolution of the chain with what follows it.
struct Part {
  const Conv* conv = nullptr;
  std::size_t weights = 0, bias = 0;  // in Node::inputs; bias 0: none
  Shape x, w, y;
  Epilogue epilogue;
};

struct Chain {
  std::optional<Part> first;  // on the dense engine
  Part middle;                // depthwise
  std::optional<Part> last;   // 1x1, on the dense engine

  const Part& end() const { return last ? *last : middle; }
};

std::variant<std::vector<Part>, Refusal> read_parts(const Problem& problem) {
  const std::vector<FusedOp>& fused = problem.node.fused;
  std::vector<Part> parts(1);
  parts[0].conv = &std::get<Conv>(problem.node.op);
  parts[0].weights = 1;
  parts[0].bias = problem.node.op_inputs() > 2 && problem.has(2) ? 2 : 0;
  parts[0].x = problem.input(0).shape(), parts[0].y = problem.op_output().shape();
  std::size_t begin = 0;  // of what follows the last convolution
  const auto close = [&](std::size_t end) -> std::optional<Refusal> {
    auto epilogue = read_epilogue(problem, begin, end);
    if (auto* refusal = std::get_if<Refusal>(&epilogue)) return std::move(*refusal);
    parts.back().epilogue = std::get<Epilogue>(epilogue);
    begin = end + 1;
    return std::nullopt;
  };
  for (std::size_t i = 0; i < fused.size(); ++i) {
    const auto* conv = std::get_if<Conv>(&fused[i].op);
    if (conv == nullptr) continue;
    if (auto refusal = close(i)) return *refusal;
    const std::vector<int>& operands = fused[i].operands;
    if (operands.size() < 2 || operands[0] != FusedOp::kChained || operands[1] < 0)
      return Refusal{"the fused convolution does not go on with the result"};
    Part part;
    part.conv = conv;
    part.weights = static_cast<std::size_t>(operands[1]);
    part.bias = operands.size() > 2 && operands[2] > 0 ? static_cast<std::size_t>(operands[2]) : 0;
    part.x = problem.types.chained[i].shape();
    part.y = (i + 1 < fused.size() ? problem.types.chained[i + 1] : problem.output()).shape();
    parts.push_back(std::move(part));
  }
  if (auto refusal = close(fused.size())) return *refusal;
  for (Part& part : parts) {
    if (problem.constant(part.weights) == nullptr) return Refusal{"weights are computed at run time"};
    if (part.bias > 0 && problem.constant(part.bias) == nullptr) return Refusal{"a bias is computed at run time"};
    part.w = problem.input(part.weights).shape();
  }
  return parts;
}

bool is_pointwise(const Part& part) {
  const auto read = read_conv2d(*part.conv, part.x, part.w, part.y);
  const auto* s = std::get_if<Conv2dShape>(&read);
  return s != nullptr && s->groups == 1 && s->kh * s->kw * s->stride_h * s->stride_w == 1 && s->oh == s->h &&
         s->ow == s->w && s->top == 0 && s->left == 0;
}

std::variant<Chain, Refusal> read_chain(const Problem& problem) {
  auto read = read_parts(problem);
  if (auto* refusal = std::get_if<Refusal>(&read)) return std::move(*refusal);
  std::vector<Part>& parts = std::get<std::vector<Part>>(read);
  if (parts.size() < 2) return Refusal{"no convolution is fused"};
  if (parts[0].x.rank() != 4) return Refusal{fmt::format("for rank 4, not {}", parts[0].x.rank())};
  Chain chain;
  const std::size_t middle = is_depthwise(*parts[0].conv, parts[0].x, parts[0].w) ? 0 : 1;
  if (parts.size() > middle + 2) return Refusal{fmt::format("{} convolutions in a row", parts.size())};
  chain.middle = parts[middle];
  if (!is_depthwise(*chain.middle.conv, chain.middle.x, chain.middle.w)) return Refusal{"none of them is depthwise"};
  if (middle == 1) {
    chain.first = parts[0];
    if (parts[0].conv->groups != 1) return Refusal{"the first convolution has groups"};
    const auto shape = read_conv2d(*parts[0].conv, parts[0].x, parts[0].w, parts[0].y);
    if (const auto* refusal = std::get_if<Refusal>(&shape)) return *refusal;
  }
  if (parts.size() > middle + 1) {
    chain.last = parts.back();
    if (!is_pointwise(*chain.last)) return Refusal{"what follows the depthwise convolution is not 1x1"};
  }
  for (const Part& part : parts) {
    if (part.x.volume() == 0 || part.y.volume() == 0) return Refusal{"nothing to compute"};
    if (part.epilogue.pool != nullptr) return Refusal{"a pool is fused"};
    if (part.epilogue.residual >= 0 && part.conv != chain.end().conv) return Refusal{"a residual sum within the chain"};
  }
  return chain;
}

// How rows of the result go through scratch.
struct Bands {
  std::int64_t count = 1;  // one for each thread
  std::int64_t strip = 1;  // rows of the depthwise result at once
  std::int64_t ring = 0;   // rows of its input that are kept
  std::int64_t ring_bytes = 0, strip_bytes = 0;

  Bands() = default;
  Bands(const Chain& chain, int threads) {
    const DepthwiseJob job = depthwise_job(*chain.middle.conv, chain.middle.x, chain.middle.w, chain.middle.y);
    const std::int64_t rows = job.batch * job.out_height;
    count = std::clamp<std::int64_t>(threads, 1, rows);
    strip = std::clamp<std::int64_t>(ceil_div(kStripPixels, job.out_width), 1, job.out_height);
    if (chain.first) {
      ring = std::min((strip - 1) * job.stride_h + (job.kernel_h - 1) * job.dilation_h + 1, job.height);
      ring_bytes = round_up(ring * job.width * job.channels * 4, 64);
    }
    if (chain.last) strip_bytes = round_up(strip * job.out_width * job.channels * 4, 64);
  }
  std::int64_t slot_bytes() const { return ring_bytes + strip_bytes; }
};

// The tile for a product. Tiles of half as wide vectors have kernels of their own here (KernelInfo::half_vectors), so
// that the planner weighs them: whether they are as fast depends on the machine.
const DenseKernel& tile_for(const KernelInfo& info, std::int64_t rows, std::int64_t columns,
                            std::int64_t row_elements) {
  const DenseKernel* best = nullptr;
  double most = 0;
  for (const DenseKernel& kernel : dense_kernels()) {
    const bool half = width_isa(kernel) != kernel.isa;
    if (kernel.type != ElementType::float32 || kernel.isa != info.isa || (half && !info.half_vectors)) continue;
    const double efficiency = dense_efficiency(kernel, rows, columns, row_elements);
    if (best == nullptr || efficiency > most) best = &kernel, most = efficiency;
  }
  return *best;
}

const DenseKernel& tile_for(const KernelInfo& info, const Conv2dShape& shape) {
  return tile_for(info, shape.oh * shape.ow, shape.oc, shape.ic * shape.stride_w);
}

Conv2dShape shape_of(const Part& part) {
  return std::get<Conv2dShape>(read_conv2d(*part.conv, part.x, part.w, part.y));
}

double flops_of(const Part& part) {
  return 2.0 * static_cast<double>(part.y.volume()) * static_cast<double>(part.w.volume() / part.w[0]);
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  if (problem.input(0).type != kernel.type || problem.output().type != kernel.type)
    return Refusal{fmt::format("stores {}, the input is {}", name(kernel.type), name(problem.input(0).type))};
  const auto read = read_chain(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const Chain& chain = std::get<Chain>(read);
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = Order::channels_last;
  if (const int residual = chain.end().epilogue.residual; residual >= 0)
    offer.inputs[static_cast<std::size_t>(residual)] = Order::channels_last;
  offer.outputs = {Order::channels_last};
  const Bands bands(chain, problem.threads);
  offer.scratch_bytes = bands.count * bands.slot_bytes();
  const Work w = work(problem.graph, problem.node);
  // Each part at its own speed.
  double flops = flops_of(chain.middle), effort = flops / kDepthwiseEfficiency;
  for (const std::optional<Part>* part : {&chain.first, &chain.last}) {
    if (!*part) continue;
    const Conv2dShape s = shape_of(**part);
    const double efficiency = dense_efficiency(tile_for(kernel, s), s.oh * s.ow, s.oc, s.ic * s.stride_w);
    flops += flops_of(**part);
    effort += flops_of(**part) / efficiency;
  }
  offer.estimate = estimate(problem, kernel.half_vectors ? Isa::avx2 : kernel.isa, flops, w.read_bytes + w.write_bytes,
                            flops / effort);
  return offer;
}

struct Product {
  DenseWork work;
  std::shared_ptr<const PackedWeights> weights;
  std::vector<float> bias;

  DenseOperands operands() const {
    DenseOperands to;
    to.weights = weights->data();
    to.bias = bias.empty() ? nullptr : bias.data();
    return to;
  }
};

struct State {
  std::optional<Product> first, last;
  DepthwiseJob middle;
  DepthwiseKernel run_middle = nullptr;
  std::shared_ptr<const PackedWeights> middle_weights;
  std::vector<float> middle_bias;
  int residual = -1;
  std::int64_t columns = 0;  // channels of the result
  Bands bands;
};

Product make_product(const Part& part, const Conv2dShape& shape, const DenseKernel& kernel, const Problem& problem,
                     WeightCache& weights) {
  Product product;
  product.work.kernel = &kernel;
  product.work.jobs = conv2d_jobs(shape, kernel);
  product.work.epilogue = dense_epilogue(part.epilogue);
  split_work(product.work, 1);
  product.weights = conv2d_weights(problem.graph.value(problem.node.inputs[part.weights]).constant, shape, kernel,
                                   Flush{!problem.exact}, weights);
  if (part.bias > 0) product.bias = pack_bias(*problem.constant(part.bias), 1, kernel);
  return product;
}

// Rows [begin, end) of the result, counted over all images.
void run_band(const State& state, const StepArgs& args, std::byte* slot, std::int64_t begin, std::int64_t end) {
  const Bands& bands = state.bands;
  DepthwiseJob middle = state.middle;
  auto* const ring = reinterpret_cast<float*>(slot);
  auto* const strip = reinterpret_cast<float*>(slot + bands.ring_bytes);
  const float* const residual =
      state.residual < 0 ? nullptr : args.input<float>(static_cast<std::size_t>(state.residual));
  float* const y = args.output<float>();
  middle.x = state.first ? ring : args.input<float>(0);
  middle.x_ring = state.first ? bands.ring : 0;
  middle.y = state.last ? strip : y;
  middle.residual = state.last ? nullptr : residual;
  DenseOperands into_ring, out_of_strip;
  if (state.first) {
    into_ring = state.first->operands();
    into_ring.x = args.input<float>(0);
    into_ring.y = ring;
    into_ring.y_ring = bands.ring;
  }
  if (state.last) {
    out_of_strip = state.last->operands();
    out_of_strip.x = strip;
  }
  const std::int64_t per_row = middle.out_width * state.columns;
  std::int64_t image = -1, done = 0;  // rows of the ring's image before `done` are made or not needed any more
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t oy = row % middle.out_height;
    const std::int64_t rows = std::min({bands.strip, end - row, middle.out_height - oy});
    if (state.first) {
      if (row / middle.out_height != image) image = row / middle.out_height, done = 0;
      const std::int64_t top = oy * middle.stride_h - middle.top;
      const std::int64_t from = std::max(top, done);
      const std::int64_t to =
          std::min(top + (rows - 1) * middle.stride_h + (middle.kernel_h - 1) * middle.dilation_h + 1, middle.height);
      if (from < to) {
        const std::int64_t before = image * middle.height;
        run_dense_rows(state.first->work, state.first->work.jobs[0], into_ring, (before + from) * middle.width,
                       (before + to) * middle.width);
        done = to;
      }
    }
    if (state.last) middle.y_begin = oy;
    state.run_middle(middle, row, row + rows);
    if (state.last) {
      out_of_strip.y = y + row * per_row;
      out_of_strip.residual = residual == nullptr ? nullptr : residual + row * per_row;
      run_dense_rows(state.last->work, state.last->work.jobs[0], out_of_strip, 0, rows * middle.out_width);
    }
    row += rows;
  }
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache& weights) {
  const Chain chain = std::get<Chain>(read_chain(problem));
  auto state = std::make_shared<State>();
  state->bands = Bands(chain, problem.threads);
  if (chain.first) {
    const Conv2dShape shape = shape_of(*chain.first);
    state->first = make_product(*chain.first, shape, tile_for(kernel, shape), problem, weights);
  }
  if (chain.last) {
    Conv2dShape strip = shape_of(*chain.last);
    const DenseKernel& tile = tile_for(kernel, strip);
    // An image as high as a strip.
    strip.n = 1;
    strip.h = strip.oh = state->bands.strip;
    state->last = make_product(*chain.last, strip, tile, problem, weights);
  }
  const Part& middle = chain.middle;
  state->middle = depthwise_job(*middle.conv, middle.x, middle.w, middle.y);
  set_epilogue(middle.epilogue, state->middle);
  state->middle_weights = depthwise_weights(problem.graph.value(problem.node.inputs[middle.weights]).constant,
                                            Flush{!problem.exact}, weights);
  state->middle.weights = reinterpret_cast<const float*>(state->middle_weights->data());
  state->middle_bias =
      depthwise_bias(middle.bias > 0 ? problem.constant(middle.bias) : nullptr, state->middle.channels);
  state->middle.bias = state->middle_bias.data();
  state->run_middle = depthwise_function(kernel.isa);
  state->residual = chain.end().epilogue.residual;
  state->columns = chain.end().y[1];
  return [state](const StepArgs& args) {
    const Bands& bands = state->bands;
    const std::int64_t rows = state->middle.batch * state->middle.out_height;
    parallel_for(bands.count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t band = begin; band < end; ++band)
        run_band(*state, args, args.scratch + band * bands.slot_bytes(), rows * band / bands.count,
                 rows * (band + 1) / bands.count);
    });
  };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, bool half_vectors = false) {
  return {{.name = name,
           .op = Conv::kName,
           .isa = isa,
           .type = ElementType::float32,
           .half_vectors = half_vectors,
           .consider = consider},
          prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("chain_f32_avx512", Isa::avx512),
    kernel("chain_f32_half_avx512", Isa::avx512, true),
    kernel("chain_f32_avx2", Isa::avx2),
#endif
    kernel("chain_f32_portable", Isa::portable),
};

}  // namespace

std::span<const CpuKernel> chain_kernels() { return kKernels; }

}  // namespace tessera::cpu
