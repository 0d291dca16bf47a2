// The rows of conv2d as kernels of nodes: convolutions, products with constant weights (convolutions of one pixel), and
// transposed convolutions whose windows do not overlap (one pixel, a channel for every place of the window).

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/conv2d/conv2d.h"
#include "tessera/targets/cuda/kernels/epilogue.h"
#include "tessera/targets/cuda/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace tessera::cuda {
namespace {

struct ReadConv {
  Conv2dProblem problem;
  int residual = -1;
};

int small(std::int64_t x) {
  check(x >= 0 && x <= std::numeric_limits<int>::max(), Code::unsupported, "cuda: an extent of {} is too large", x);
  return static_cast<int>(x);
}

std::optional<Refusal> refuse_weights(const Problem& problem, std::size_t bias) {
  if (!problem.constant(1)) return Refusal{"weights are no constant"};
  if (problem.has(bias) && bias < problem.node.op_inputs() && !problem.constant(bias))
    return Refusal{"the bias is no constant"};
  return std::nullopt;
}

// Products see rows, whatever their operands' rank is.
bool is_image(const Problem& problem) {
  return std::holds_alternative<Conv>(problem.node.op) || std::holds_alternative<ConvTranspose>(problem.node.op);
}

void set_pixels(const Problem& problem, int residual, Conv2dProblem& p) {
  if (!is_image(problem)) return;
  p.x_pixel = small(problem.input_pixel(0));
  p.y_pixel = small(problem.output_pixel());
  if (residual >= 0) p.residual_pixel = small(problem.input_pixel(static_cast<std::size_t>(residual)));
}

std::variant<ReadConv, Refusal> read_conv(const Problem& problem, const Conv& op) {
  if (problem.input(0).rank() != 4) return Refusal{"takes images of two dimensions"};
  if (auto refusal = refuse_weights(problem, 2)) return *refusal;
  const Shape x = problem.input(0).shape(), w = problem.input(1).shape();
  Window window = op.window;
  if (window.kernel.empty()) window.kernel = {w[2], w[3]};
  const ResolvedWindow resolved = resolve(window, {x[2], x[3]}, false, Conv::kName);
  Conv2dProblem p{.n = small(x[0]), .h = small(x[2]), .w = small(x[3]), .c = small(x[1]), .oc = small(w[0])};
  p.kh = small(w[2]), p.kw = small(w[3]);
  for (std::size_t i = 0; i < 2; ++i) {
    p.stride[i] = small(resolved.strides[i]);
    p.dilation[i] = small(resolved.dilations[i]);
    p.pads[i] = small(resolved.begins[i]);
    p.pads[i + 2] = small(resolved.ends[i]);
  }
  p.groups = small(op.groups);
  return ReadConv{p};
}

// Rows of the depth times columns of it.
std::variant<ReadConv, Refusal> product(const Problem& problem, std::int64_t rows, std::int64_t depth,
                                        std::int64_t columns) {
  if (auto refusal = refuse_weights(problem, 2)) return *refusal;
  return ReadConv{{.n = small(rows), .c = small(depth), .oc = small(columns)}};
}

std::variant<ReadConv, Refusal> read_gemm(const Problem& problem, const Gemm& op) {
  if (op.transpose_a) return Refusal{"the first operand is transposed"};
  if (problem.has(2) && problem.node.op_inputs() > 2) {
    const Shape c = problem.input(2).shape();
    const std::int64_t columns = problem.op_output().shape()[1];
    if (c.volume() != 1 && (c.volume() != columns || c[c.rank() - 1] != columns))
      return Refusal{"the sum is not one for each column"};
  }
  const Shape x = problem.input(0).shape();
  return product(problem, x[0], x[1], problem.op_output().shape()[1]);
}

std::variant<ReadConv, Refusal> read_matmul(const Problem& problem) {
  if (!problem.constant(1)) return Refusal{"the second operand is no constant"};
  const Shape x = problem.input(0).shape(), w = problem.input(1).shape();
  if (w.rank() != 2 || x.rank() < 2) return Refusal{"the second operand is no matrix"};
  const std::int64_t depth = x[x.rank() - 1];
  if (depth == 0) return Refusal{"a depth of 0"};
  return product(problem, x.volume() / depth, depth, w[1]);
}

std::variant<ReadConv, Refusal> read_conv_transpose(const Problem& problem, const ConvTranspose& op) {
  if (problem.input(0).rank() != 4) return Refusal{"takes images of two dimensions"};
  if (auto refusal = refuse_weights(problem, 2)) return *refusal;
  const Shape x = problem.input(0).shape(), w = problem.input(1).shape(), y = problem.op_output().shape();
  const auto other = [](const std::vector<std::int64_t>& list, std::int64_t usual) {
    return std::ranges::any_of(list, [&](std::int64_t value) { return value != usual; });
  };
  const std::vector<std::int64_t> kernel{w[2], w[3]};
  if (op.groups != 1) return Refusal{fmt::format("{} groups, takes 1", op.groups)};
  if (op.window.strides != kernel || other(op.window.dilations, 1) || other(op.window.pads, 0) ||
      other(op.output_padding, 0) || y[2] != x[2] * w[2] || y[3] != x[3] * w[3])
    return Refusal{"windows overlap, or there is a border"};
  Conv2dProblem p{.n = small(x[0]), .h = small(x[2]), .w = small(x[3]), .c = small(x[1])};
  p.oc = small(w[1] * w[2] * w[3]);
  p.phases = {small(w[2]), small(w[3])};
  return ReadConv{p};
}

std::variant<ReadConv, Refusal> read(const Problem& problem, ElementType type) {
  if (auto refusal = refuse_types(problem, type)) return *refusal;
  const Op& op = problem.node.op;
  auto answer = [&]() -> std::variant<ReadConv, Refusal> {
    if (const auto* conv = std::get_if<Conv>(&op)) return read_conv(problem, *conv);
    if (const auto* gemm = std::get_if<Gemm>(&op)) return read_gemm(problem, *gemm);
    if (const auto* transpose = std::get_if<ConvTranspose>(&op)) return read_conv_transpose(problem, *transpose);
    return read_matmul(problem);
  }();
  auto* conv = std::get_if<ReadConv>(&answer);
  if (conv == nullptr) return answer;
  const auto epilogue = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&epilogue)) return *refusal;
  const auto& fused = std::get<Epilogue>(epilogue);
  conv->problem.type = type;
  conv->problem.tf32 = !problem.exact;
  conv->problem.activation = fused.activation;
  conv->problem.pool = fused.pool;
  conv->problem.residual = fused.residual >= 0;
  conv->residual = fused.residual;
  if (conv->problem.has_phases() && conv->problem.residual) return Refusal{"a residual, which phases do not take"};
  set_pixels(problem, fused.residual, conv->problem);
  return answer;
}

// Factors with 10 bits behind the point beside 23.
constexpr double kTf32Rounding = 1 << 13;

const Conv2dRow& row_of(const KernelInfo& kernel) { return conv2d_rows()[static_cast<std::size_t>(kernel.row)]; }

Answer consider_node(const KernelInfo& kernel, const Problem& problem) {
  const auto answer = read(problem, kernel.type);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  const auto& [conv, residual] = std::get<ReadConv>(answer);
  check_problem(conv);
  const Conv2dAnswer row_answer = consider(row_of(kernel), conv, problem.machine.gpu());
  if (const auto* refusal = std::get_if<Conv2dRefusal>(&row_answer)) return Refusal{refusal->text()};
  const auto& row_offer = std::get<Conv2dOffer>(row_answer);
  Offer offer;
  const bool image = is_image(problem);
  const Order order = image ? Order::channels_last : Order::row_major;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = order;
  if (residual >= 0) offer.inputs[static_cast<std::size_t>(residual)] = order;
  offer.outputs = {order};
  if (image) {
    offer.wide_outputs = true;
    offer.wide_inputs = 1 | (residual >= 0 ? std::uint64_t{1} << residual : 0);
  }
  // Every thread reads of the residual what it writes of the result: that stays in the cache.
  if (residual >= 0 && conv.pool == 1) offer.may_overwrite = residual;
  offer.estimate = {row_offer.seconds, name(row_offer.bound)};
  return offer;
}

// Weights as oc, ic, kh, kw.
std::vector<float> plain_weights(const Problem& problem, const Array& array) {
  std::vector<float> w = floats_of(array);
  const auto transposed = [&](std::int64_t rows, std::int64_t columns, float scale) {
    std::vector<float> out(w.size());
    constexpr std::int64_t kTile = 32;
    for (std::int64_t r0 = 0; r0 < rows; r0 += kTile)
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t r = r0; r < std::min(rows, r0 + kTile); ++r)
          out[static_cast<std::size_t>(c * rows + r)] = w[static_cast<std::size_t>(r * columns + c)] * scale;
    return out;
  };
  const Shape shape = array.shape();
  if (const auto* gemm = std::get_if<Gemm>(&problem.node.op)) {
    if (!gemm->transpose_b) return transposed(shape[0], shape[1], gemm->alpha);
    for (float& value : w) value *= gemm->alpha;
    return w;
  }
  if (std::holds_alternative<MatMul>(problem.node.op)) return transposed(shape[0], shape[1], 1);
  if (!std::holds_alternative<ConvTranspose>(problem.node.op)) return w;
  return transposed(shape[0], shape[1] * shape[2] * shape[3], 1);  // c, (oc, place) to (oc, place), c
}

// Of a transposed convolution: places of the window are outermost.
std::vector<float> places_first(const std::vector<float>& w, std::int64_t oc, std::int64_t places) {
  std::vector<float> out(w.size());
  const auto depth = static_cast<std::int64_t>(w.size()) / (oc * places);
  for (std::int64_t o = 0; o < oc; ++o)
    for (std::int64_t place = 0; place < places; ++place)
      std::copy_n(w.begin() + (o * places + place) * depth, depth, out.begin() + (place * oc + o) * depth);
  return out;
}

std::vector<float> plain_bias(const Problem& problem, const Conv2dProblem& p) {
  if (problem.node.op_inputs() < 3 || !problem.has(2)) return {};
  std::vector<float> bias = floats_of(*problem.constant(2));
  if (const auto* gemm = std::get_if<Gemm>(&problem.node.op)) {
    if (bias.size() == 1) bias.assign(static_cast<std::size_t>(p.oc), bias[0]);
    for (float& value : bias) value *= gemm->beta;
  }
  const std::size_t channels = bias.size();
  for (int place = 1; place < p.phases[0] * p.phases[1]; ++place)
    for (std::size_t i = 0; i < channels; ++i) bias.push_back(bias[i]);
  return bias;
}

Launch prepare_node(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
                    const StepAddresses& at) {
  const auto answer = read(problem, kernel.type);
  const auto& [p, residual] = std::get<ReadConv>(answer);
  const Conv2dRow& row = row_of(kernel);
  const Conv2dAnswer row_answer = consider(row, p, problem.machine.gpu());
  const auto& offer = std::get<Conv2dOffer>(row_answer);
  const Conv2dPacking packing = packing_of(row, offer);
  const auto weights =
      device.weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                         fmt::format("conv2d {} {} {}", name(p.type), static_cast<int>(packing), name(problem.node.op)),
                         [&](const Array& array) {
                           std::vector<float> plain = plain_weights(problem, array);
                           if (p.has_phases()) plain = places_first(plain, p.y_channels(), p.phases[0] * p.phases[1]);
                           return conv2d_weights(p, packing, plain);
                         });
  auto conv = std::make_shared<const Conv2d>(device.library, p, row, offer, weights, plain_bias(problem, p));
  const void* more = residual >= 0 ? at.input(static_cast<std::size_t>(residual)) : nullptr;
  const float* planes = conv->reads_planes() ? at.take_uncast(0) : nullptr;
  return [conv, bound = conv->bind(at.input(0), more, at.outputs[0], planes)](const Stream& stream) {
    bound.launch(stream);
  };
}

}  // namespace

std::vector<CudaKernel> conv2d_kernels() {
  static std::list<std::string> names;  // KernelInfo keeps views
  std::vector<CudaKernel> out;
  for (const std::string_view op : {Conv::kName, Gemm::kName, MatMul::kName, ConvTranspose::kName})
    for (std::size_t r = 0; r < conv2d_rows().size(); ++r) {
      const Conv2dRow& row = conv2d_rows()[r];
      const bool one_pixel = op != Conv::kName;
      if (one_pixel && row.tiling && row.tiling->patch) continue;  // for windows of 3x3
      std::string_view shown = row.name;
      if (one_pixel) {
        const std::string_view prefix = op == Gemm::kName     ? "gemm"
                                        : op == MatMul::kName ? "matmul"
                                                              : "conv_transpose2d";
        names.push_back(fmt::format("{}{}", prefix, row.name.substr(row.name.find('_'))));
        shown = names.back();
      }
      out.push_back({.info = {.name = shown,
                              .op = op,
                              .type = row.type,
                              .m = row.tiling ? row.tiling->pixels() : 0,
                              .n = row.tiling ? row.tiling->oc : 0,
                              .row = static_cast<int>(r),
                              .rounding = row.rounds() ? kTf32Rounding : 1,
                              .consider = consider_node},
                     .prepare = prepare_node});
    }
  return out;
}

}  // namespace tessera::cuda
