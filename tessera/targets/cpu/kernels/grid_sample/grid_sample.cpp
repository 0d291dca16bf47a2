// GridSample of images, channels last: where to look is worked out once for a pixel, and serves all its channels.

#include "tessera/targets/cpu/kernels/grid_sample/grid_sample.h"

#include "tessera/core/parallel_for.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/grid_taps.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cpu {
namespace {

constexpr double kEfficiency = 0.05;    // of the peak: a load for every product
constexpr double kFlopsOfAPlace = 100;  // for the taps of a pixel and their weights, one at a time

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const TensorType &x = problem.input(0), &grid = problem.input(1);
  if (x.type != kernel.type) return Refusal{fmt::format("stores {}, the input is {}", name(kernel.type), name(x.type))};
  if (grid.type != ElementType::float32)
    return Refusal{fmt::format("reads grids of float32, this is {}", name(grid.type))};
  if (x.rank() != 4) return Refusal{fmt::format("samples images, this has {} dimensions", x.rank() - 2)};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (problem.output().shape().volume() == 0) return Refusal{"there are no elements"};
  Offer offer;
  offer.inputs = {Order::channels_last, Order::row_major};
  offer.outputs = {Order::channels_last};
  offer.wide_inputs = 1;
  offer.wide_outputs = true;
  const Work w = work(problem.graph, problem.node);
  const double places = static_cast<double>(grid.shape().volume()) / 2;
  offer.estimate =
      estimate(problem, kernel.isa, w.flops + kFlopsOfAPlace * places, w.read_bytes + w.write_bytes, kEfficiency);
  return offer;
}

GridSampleKernel function_of(Isa isa) { return TSR_FOR_ISA(isa, grid_sample); }

// The taps of a pixel: those of its row by those of its column, where there is something.
void look(const GridTaps& rows, const GridTaps& columns, std::int64_t row_elements, std::int64_t pixel_elements,
          std::int64_t first, GridSampleJob& job, std::int64_t pixel) {
  int n = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows.count); ++r) {
    if (rows.at[r] < 0) continue;
    for (std::size_t c = 0; c < static_cast<std::size_t>(columns.count); ++c) {
      if (columns.at[c] < 0) continue;
      job.at[pixel][n] = first + rows.at[r] * row_elements + columns.at[c] * pixel_elements;
      job.weight[pixel][n] = static_cast<float>(rows.weight[r] * columns.weight[c]);
      ++n;
    }
  }
  job.count[pixel] = n;
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  const GridSample& op = std::get<GridSample>(problem.node.op);
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  const GridAxis rows(op, x[2]), columns(op, x[3]);
  const std::int64_t x_pixel = problem.input_pixel(0), y_pixel = problem.output_pixel(), channels = x[1];
  const std::int64_t x_row = x[3] * x_pixel, x_image = x[2] * x_row, image = y[2] * y[3], all = y[0] * image;
  const std::int64_t bytes = element_bytes(kernel.type);
  const bool bf16 = kernel.type == ElementType::bfloat16;
  return [=, run = function_of(kernel.isa)](const StepArgs& args) {
    const float* grid = reinterpret_cast<const float*>(args.inputs[1]);
    parallel_for(ceil_div(all, GridSampleJob::kPixels), 1, [&](std::int64_t begin, std::int64_t end) {
      GridSampleJob job;
      job.bf16 = bf16;
      job.channels = channels;
      job.y_pixel = y_pixel;
      job.x = args.inputs[0];
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t first = block * GridSampleJob::kPixels;
        job.pixels = std::min(GridSampleJob::kPixels, all - first);
        job.y = args.outputs[0] + first * y_pixel * bytes;
        for (std::int64_t p = 0; p < job.pixels; ++p) {
          const float* place = grid + 2 * (first + p);  // the column first
          look(rows.taps(place[1]), columns.taps(place[0]), x_row, x_pixel, (first + p) / image * x_image, job, p);
        }
        run(job);
      }
    });
  };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, ElementType type) {
  return {{.name = name, .op = GridSample::kName, .isa = isa, .type = type, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("grid_sample_f32_avx512", Isa::avx512, ElementType::float32),
    kernel("grid_sample_bf16_avx512", Isa::avx512, ElementType::bfloat16),
    kernel("grid_sample_f32_avx2", Isa::avx2, ElementType::float32),
    kernel("grid_sample_bf16_avx2", Isa::avx2, ElementType::bfloat16),
#endif
    kernel("grid_sample_f32", Isa::portable, ElementType::float32),
    kernel("grid_sample_bf16", Isa::portable, ElementType::bfloat16),
};

}  // namespace

std::span<const CpuKernel> grid_sample_kernels() { return kKernels; }

}  // namespace tessera::cpu
