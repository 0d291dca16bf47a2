// Resize by tables: `nearest` moves elements of any type, linear and cubic interpolate over the spatial axes.

#include "tessera/targets/cpu/kernels/resize/resize.h"

#include "tessera/core/parallel_for.h"
#include "tessera/graph/ops/resize_taps.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/move/moving.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace tessera::cpu {
namespace {

constexpr double kEfficiency = 0.1;  // of the peak: a load for every product
constexpr std::int64_t kFewChannels = 4;
constexpr std::int64_t kGrainElements = 1 << 14;  // less is not worth a thread

// Empty lists count as left out.
const Array* list(const Problem& problem, std::size_t i) {
  const Array* array = problem.constant(i);
  return array != nullptr && array->count() > 0 ? array : nullptr;
}

std::vector<ResizeAxis> axes_of(const Problem& problem) {
  const Array *scales = list(problem, 2), *sizes = list(problem, 3);
  return resize_axes(std::get<Resize>(problem.node.op), problem.input(0).shape(),
                     scales ? scales->to_double() : std::vector<double>{},
                     scales ? std::vector<std::int64_t>{} : sizes->to_int64());
}

std::optional<Refusal> refusal(const Problem& problem) {
  const Resize& op = std::get<Resize>(problem.node.op);
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (op.coordinates == Resize::Coordinates::tf_crop_and_resize) return Refusal{"crops are left to the definition"};
  if (op.antialias) return Refusal{"antialias is left to the definition"};
  for (const std::size_t i : {2, 3})
    if (problem.has(i) && problem.constant(i) == nullptr) return Refusal{"the sizes are not constant"};
  if (list(problem, 2) == nullptr && list(problem, 3) == nullptr) return Refusal{"there are no sizes"};
  return std::nullopt;
}

// Every element is its own nearest. (By some rules even an axis that keeps its extent is shifted.)
bool stays(const ResizeAxis& axis) {
  for (std::size_t i = 0; i < axis.taps.size(); ++i)
    if (axis.taps[i].at != static_cast<std::int64_t>(i)) return false;
  return axis.in == axis.out;
}

Answer consider_nearest(const KernelInfo&, const Problem& problem) {
  if (auto no = refusal(problem)) return *no;
  if (std::get<Resize>(problem.node.op).mode != Resize::Mode::nearest) return Refusal{"it interpolates"};
  Offer offer = moving_offer(problem, problem.orders[0], problem.orders[0]);
  offer.wide_inputs = offer.wide_outputs = offer.inputs[0] == Order::channels_last && stays(axes_of(problem)[1]);
  return offer;
}

Runner prepare_nearest(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  const std::vector<ResizeAxis> axes = axes_of(problem);
  const Shape shape = problem.input(0).shape();
  const bool last = offer.inputs[0] == Order::channels_last;
  const std::vector<std::int64_t> strides = strides_of(shape, offer.inputs[0], last ? problem.input_pixel(0) : 0);
  std::vector<std::vector<std::int64_t>> tables(axes.size());
  for (std::size_t d = 0; d < axes.size(); ++d) {
    auto& table = tables[static_cast<std::size_t>(stored_axis(static_cast<int>(d), shape.rank(), offer.inputs[0]))];
    for (const ResizeTap& tap : axes[d].taps) table.push_back(tap.at * strides[d]);
  }
  const bool wide = last && problem.output_pixel() > problem.output().shape()[1];
  auto copy = std::make_shared<const IndexedCopy>(std::move(tables), element_bytes(problem.input(0).type),
                                                  wide ? problem.output_pixel() : 0);
  return [copy](const StepArgs& args) { copy->run(args.inputs[0], args.outputs[0]); };
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  if (auto no = refusal(problem)) return *no;
  const TensorType& x = problem.input(0);
  if (std::get<Resize>(problem.node.op).mode == Resize::Mode::nearest) return Refusal{"it does not interpolate"};
  if (x.type != kernel.type) return Refusal{fmt::format("stores {}, the input is {}", name(kernel.type), name(x.type))};
  if (x.rank() != 3 && x.rank() != 4) return Refusal{fmt::format("for rank 3 and 4, not {}", x.rank())};
  if (problem.output().shape().volume() == 0) return Refusal{"there are no elements"};
  const std::vector<ResizeAxis> axes = axes_of(problem);
  if (axes[0].changes || axes[1].changes) return Refusal{"images or channels are resized"};
  // Channels last is a vector at a time, row_major an element: worth the conversion but for a few channels.
  const Order order = axes[1].in < kFewChannels ? problem.orders[0] : Order::channels_last;
  Offer offer = moving_offer(problem, order, order);
  const Work w = work(problem.graph, problem.node);
  offer.wide_inputs = offer.wide_outputs = order == Order::channels_last;
  const double efficiency = order == Order::channels_last ? kEfficiency : kEfficiency / 16;
  offer.estimate = estimate(problem, kernel.isa, w.flops, w.read_bytes + w.write_bytes, efficiency);
  return offer;
}

struct Table {
  std::vector<std::int64_t> first, at;
  std::vector<float> weight;

  ResizeTable view() const { return {first.data(), at.data(), weight.data()}; }
};

Table table_of(const ResizeAxis& axis) {
  Table table;
  if (!axis.changes) {
    for (std::int64_t i = 0; i < axis.out; ++i) {
      table.first.push_back(i);
      table.at.push_back(i);
      table.weight.push_back(1);
    }
    table.first.push_back(axis.out);
    return table;
  }
  for (const std::size_t first : axis.first) table.first.push_back(static_cast<std::int64_t>(first));
  for (const ResizeTap& tap : axis.taps) {
    table.at.push_back(tap.at);
    table.weight.push_back(static_cast<float>(tap.weight));
  }
  return table;
}

ResizeKernel function_of(Isa isa) { return TSR_FOR_ISA(isa, resize); }

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer& offer, WeightCache&) {
  struct State {
    ResizeJob job;
    Table rows, columns;
    std::int64_t units = 0, grain = 1;
    ResizeKernel run = nullptr;
  };
  auto state = std::make_shared<State>();
  ResizeJob& job = state->job;
  const std::vector<ResizeAxis> axes = axes_of(problem);
  const ResizeAxis one{1, 1, false};
  const ResizeAxis &rows = axes.size() == 4 ? axes[2] : one, &columns = axes.back();
  state->rows = table_of(rows);
  state->columns = table_of(columns);
  job.rows = state->rows.view();
  job.columns = state->columns.view();
  job.bf16 = kernel.type == ElementType::bfloat16;
  job.channels_last = offer.inputs[0] == Order::channels_last;
  job.channels = axes[1].in;
  job.x_pixel = problem.input_pixel(0);
  job.y_pixel = problem.output_pixel();
  job.height = rows.in;
  job.width = columns.in;
  job.out_height = rows.out;
  job.out_width = columns.out;
  state->run = function_of(kernel.isa);
  const std::int64_t per_row = job.out_width * (job.channels_last ? job.channels : 1);
  state->units = problem.output().shape().volume() / per_row;
  state->grain = std::max<std::int64_t>(1, kGrainElements / per_row);
  return [state](const StepArgs& args) {
    ResizeJob mine = state->job;
    mine.x = args.inputs[0];
    mine.y = args.outputs[0];
    parallel_for(state->units, state->grain,
                 [&](std::int64_t begin, std::int64_t end) { state->run(mine, begin, end); });
  };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, ElementType type) {
  return {{.name = name, .op = Resize::kName, .isa = isa, .type = type, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
    {{.name = "resize_nearest", .op = Resize::kName, .consider = consider_nearest}, prepare_nearest},
#if defined(__x86_64__)
    kernel("resize_f32_avx512", Isa::avx512, ElementType::float32),
    kernel("resize_bf16_avx512", Isa::avx512, ElementType::bfloat16),
    kernel("resize_f32_avx2", Isa::avx2, ElementType::float32),
    kernel("resize_bf16_avx2", Isa::avx2, ElementType::bfloat16),
#endif
    kernel("resize_f32", Isa::portable, ElementType::float32),
    kernel("resize_bf16", Isa::portable, ElementType::bfloat16),
};

}  // namespace

std::span<const CpuKernel> resize_kernels() { return kKernels; }

}  // namespace tessera::cpu
