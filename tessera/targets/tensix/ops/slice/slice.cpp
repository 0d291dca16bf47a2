#include "tessera/targets/tensix/ops/slice/slice.h"

#include "tessera/core/elements.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/movement_buffers.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/card/shard_inheritance.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <fmt/ranges.h>

namespace tessera::tensix {
namespace {

struct Box {
  std::vector<std::int64_t> begin, step;
  Shape shape;
};

Box checked_box(const TensorSpec& spec, std::span<const std::int64_t> begins, std::span<const std::int64_t> ends,
                std::span<const std::int64_t> steps) {
  const Shape& shape = spec.logical_shape();
  const std::size_t rank = static_cast<std::size_t>(shape.rank());
  check(begins.size() == rank && ends.size() == rank && steps.size() == rank, Code::invalid_argument,
        "slice: a tensor of rank {} needs as many begins ({}), ends ({}) and steps ({})", rank, begins.size(),
        ends.size(), steps.size());
  Box box;
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t extent = shape.dims()[d];
    check(steps[d] != 0, Code::invalid_argument, "slice: the step of dimension {} is 0", d);
    const std::int64_t begin = begins[d] < 0 ? begins[d] + extent : begins[d];
    const std::int64_t end = ends[d] < 0 ? ends[d] + extent : ends[d];
    check(begin >= 0, Code::invalid_argument, "slice: begin {} lies before the first of {} elements of dimension {}",
          begins[d], extent, d);
    // Tiles are cut by padded extents, and the refusal names what was compared.
    const bool tiled = spec.layout() == Layout::tile && d + 2 >= rank;
    const std::int64_t unit = !tiled ? 1 : d + 1 == rank ? spec.tile().width : spec.tile().height;
    check(end <= extent, Code::invalid_argument,
          "slice: ends {} must be less than or equal to the shape of the tensor {} in dimension {}",
          round_up(end, unit), round_up(extent, unit), d);
    box.begin.push_back(begin);
    box.step.push_back(steps[d]);
    dims.push_back(steps[d] > 0 && end > begin ? ceil_div(end - begin, steps[d]) : 0);
  }
  box.shape = Shape(std::move(dims));
  return box;
}

bool is_whole_tiles(const TensorSpec& spec, const Box& box) {
  for (std::int64_t step : box.step)
    if (step != 1) return false;
  const std::size_t rank = box.begin.size();
  return (rank < 1 || box.begin[rank - 1] % spec.tile().width == 0) &&
         (rank < 2 || box.begin[rank - 2] % spec.tile().height == 0);
}

DeviceTensor cut(const DeviceTensor& x, const Box& box, const MemoryConfig& config) {
  const TensorSpec& from = x.spec();
  DeviceTensor y =
      DeviceTensor::allocate(x.device(), TensorSpec(box.shape, from.dtype(), from.layout(), config, from.tile()));
  place_program(*x.device(), slice_buffers(from, y.spec(), box.begin.back(), x.device()->card()));
  const DType element = is_block_float(from.dtype()) ? DType::float32 : from.dtype();
  write_values(y, [&] {
    std::vector<std::byte> elements(static_cast<std::size_t>(box.shape.volume() * element_bytes(element)));
    copy_box({box.shape, from.logical_shape(), box.shape, box.begin, box.step,
              std::vector<std::int64_t>(box.begin.size(), 0)},
             element_bytes(element), read_pages(x).to_elements(element).data(), elements.data());
    return Tensor::from_elements(elements, element, box.shape, from.dtype(), from.layout(), from.tile());
  });
  Transfer moved = stream_transfers(y, y).back();  // only what is kept is read
  moved.from = memory_kind(from.memory_config().buffer_type());
  finish_program(
      {ProgramKind::slice, fmt::format("{} of {}", box.shape.to_string(), from.logical_shape().to_string()), {moved}},
      {&x}, y);
  return y;
}

}  // namespace

DeviceTensor slice(const DeviceTensor& x, std::span<const std::int64_t> begins, std::span<const std::int64_t> ends,
                   std::span<const std::int64_t> steps, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Box box = checked_box(from, begins, ends, steps);
  if (box.shape == from.logical_shape() && (!config || *config == from.memory_config())) return x;
  const MemoryConfig place = config ? *config : inherited_placement(from, box.shape);
  if (box.shape.volume() == 0)
    return DeviceTensor::allocate(
        x.device(), TensorSpec(box.shape, from.dtype(), from.layout(),
                               MemoryConfig(TensorMemoryLayout::interleaved, place.buffer_type()), from.tile()));
  if (from.layout() == Layout::row_major || is_whole_tiles(from, box)) return cut(x, box, place);

  // The copies lie where the result is wanted, or where the input is.
  const DeviceTensor rows = to_layout(x, Layout::row_major, std::nullopt, config);
  const DeviceTensor piece = cut(rows, box, config ? *config : inherited_placement(rows.spec(), box.shape));
  // What went through rows comes back as bfloat16, as TTNN leaves it.
  return to_layout(piece, Layout::tile, is_block_float(from.dtype()) ? DType::bfloat16 : from.dtype(), place);
}

DeviceTensor slice_write(const DeviceTensor& x, const DeviceTensor& y, std::span<const std::int64_t> begins,
                         std::span<const std::int64_t> ends, std::span<const std::int64_t> steps) {
  check_together("slice_write", {&x, &y});
  const Shape &part = x.spec().logical_shape(), &whole = y.spec().logical_shape();
  const auto rank = static_cast<std::size_t>(whole.rank());
  check(part.rank() == whole.rank() && begins.size() == rank && ends.size() == rank && steps.size() == rank,
        Code::invalid_argument, "slice_write: ranks {} and {} do not go with {} begins, {} ends and {} steps",
        part.rank(), whole.rank(), begins.size(), ends.size(), steps.size());
  check(x.spec().dtype() == y.spec().dtype() && x.spec().layout() == y.spec().layout(), Code::invalid_argument,
        "slice_write: {} in {} is not written over {} in {}", name(x.spec().dtype()), name(x.spec().layout()),
        name(y.spec().dtype()), name(y.spec().layout()));
  for (std::size_t d = 0; d < rank; ++d) {
    check(begins[d] >= 0 && ends[d] <= whole.dims()[d] && steps[d] > 0, Code::invalid_argument,
          "slice_write: {} to {} in steps of {} is not within {}", begins[d], ends[d], steps[d], whole.dims()[d]);
    const std::int64_t count = begins[d] < ends[d] ? ceil_div(ends[d] - begins[d], steps[d]) : 0;
    check(count == part.dims()[d], Code::invalid_argument, "slice_write: {} elements go from {} to {}, not {}", count,
          begins[d], ends[d], part.dims()[d]);
  }
  if (part.volume() == 0) return y;
  return whole_program(ProgramKind::slice_write, "slice_write", {&x}, y, [&] {
    std::vector<double> values = numbers_of(y);
    const std::vector<double> given = numbers_of(x);
    const std::vector<std::int64_t> strides = strides_of(whole);
    Coordinates at(part);
    for (const double value : given) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < rank; ++d) place += (begins[d] + at.at()[d] * steps[d]) * strides[d];
      values[static_cast<std::size_t>(place)] = value;
      at.next();
    }
    return values;
  });
}

}  // namespace tessera::tensix
