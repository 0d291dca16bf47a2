// Resize of images, channels last.

#include "tessera/core/error.h"
#include "tessera/graph/ops/resize_taps.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/resize/resize_arguments.h"

#include <fmt/format.h>

#include <memory>

namespace tessera::cuda {
namespace {

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  const auto& op = std::get<Resize>(problem.node.op);
  if (problem.input(0).rank() != 4) return Refusal{"takes images of two dimensions"};
  if (problem.input(0).type != kernel.type || problem.output().type != kernel.type)
    return Refusal{fmt::format("is for {}, there is {}", name(kernel.type), name(problem.input(0).type))};
  if (op.coordinates == Resize::Coordinates::tf_crop_and_resize) return Refusal{"a part of the image is cut out"};
  for (std::size_t i = 1; i < problem.node.inputs.size(); ++i)
    if (problem.has(i) && !problem.constant(i)) return Refusal{"scales are no constants"};
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  if (x[0] != y[0] || x[1] != y[1]) return Refusal{"images or channels are resized"};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = Order::channels_last;
  offer.outputs = {Order::channels_last};
  offer.wide_inputs = 1;
  offer.wide_outputs = true;
  offer.estimate = streaming_estimate(problem);
  return offer;
}

// The taps of one axis; those of an axis that stays are its elements themselves.
struct Table {
  std::vector<std::int32_t> first{0};
  std::vector<ResizeTapOnDevice> taps;
};

Table table_of(const ResizeAxis& axis, std::int64_t size) {
  Table out;
  for (std::int64_t i = 0; i < size; ++i) {
    if (!axis.changes) {
      out.taps.push_back({static_cast<std::int32_t>(i), 1});
    } else {
      for (std::size_t t = axis.first[static_cast<std::size_t>(i)]; t < axis.first[static_cast<std::size_t>(i) + 1];
           ++t)
        out.taps.push_back({static_cast<std::int32_t>(axis.taps[t].at), static_cast<float>(axis.taps[t].weight)});
    }
    out.first.push_back(static_cast<std::int32_t>(out.taps.size()));
  }
  return out;
}

Launch prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
               const StepAddresses& at) {
  const auto& op = std::get<Resize>(problem.node.op);
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  if (y.volume() == 0) return nothing();
  const auto given = [&](std::size_t i) { return problem.has(i) && problem.constant(i)->count() > 0; };
  const std::vector<ResizeAxis> axes =
      resize_axes(op, x, given(2) ? problem.constant(2)->to_double() : std::vector<double>{},
                  given(3) ? problem.constant(3)->to_int64() : std::vector<std::int64_t>{});
  const Table rows = table_of(axes[2], y[2]), columns = table_of(axes[3], y[3]);
  struct Tables {
    Memory first_h, first_w, taps_h, taps_w;
  };
  const Context& context = device.library.context();
  const auto copied = [&](const auto& list) { return Memory(context, std::as_bytes(std::span(list))); };
  const auto tables = std::make_shared<const Tables>(
      Tables{copied(rows.first), copied(columns.first), copied(rows.taps), copied(columns.taps)});
  const void* from = at.input(0);
  const int pack = pack_elements(kernel.type);
  ResizeArguments a{};
  const auto small = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  a.n = small(x[0]), a.h = small(x[2]), a.w = small(x[3]), a.oh = small(y[2]), a.ow = small(y[3]);
  a.x_pixel = small(problem.input_pixel(0)), a.y_pixel = small(problem.output_pixel());
  const bool wide = x[1] % pack == 0 && a.x_pixel % pack == 0 && a.y_pixel % pack == 0 &&
                    reinterpret_cast<std::uintptr_t>(from) % 16 == 0 &&
                    reinterpret_cast<std::uintptr_t>(at.outputs[0]) % 16 == 0;
  a.packs = small(x[1] / (wide ? pack : 1));
  a.first_h = static_cast<const std::int32_t*>(tables->first_h.data());
  a.first_w = static_cast<const std::int32_t*>(tables->first_w.data());
  a.taps_h = static_cast<const ResizeTapOnDevice*>(tables->taps_h.data());
  a.taps_w = static_cast<const ResizeTapOnDevice*>(tables->taps_w.data());
  const std::int64_t items = y[0] * y[2] * y[3] * a.packs;
  const Launch launch = launch_of(
      device.library.function(Binary::resize, fmt::format("resize_{}{}", short_name(kernel.type), wide ? "_wide" : "")),
      {.blocks = blocks_for(items, 256), .threads = 256, .early_start = true}, from, at.outputs[0], a);
  return [launch, tables](const Stream& stream) { launch(stream); };
}

}  // namespace

std::vector<CudaKernel> resize_kernels() {
  struct Row {
    std::string_view name;
    ElementType type;
  };
  std::vector<CudaKernel> out;
  for (const Row& row : std::initializer_list<Row>{{"resize_f16", ElementType::float16},
                                                   {"resize_bf16", ElementType::bfloat16},
                                                   {"resize_f32", ElementType::float32}})
    out.push_back(
        {.info = {.name = row.name, .op = Resize::kName, .type = row.type, .consider = consider}, .prepare = prepare});
  return out;
}

}  // namespace tessera::cuda
