#include "tessera/targets/tensix/ops/reshape/reshape.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/movement_buffers.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/card/shard_inheritance.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <fmt/ranges.h>

namespace tessera::tensix {
namespace {

// Dimensions counted from the end; those that are not there count 1.
std::int64_t from_end(const Shape& shape, int position) { return position > shape.rank() ? 1 : shape[-position]; }

bool keeps_pages(const TensorSpec& from, const Shape& shape) {
  const Shape& old = from.logical_shape();
  if (shape.rank() == 0 || from_end(old, 1) != from_end(shape, 1)) return false;
  if (from.layout() == Layout::row_major) return true;
  const std::int64_t before = from_end(old, 2), after = from_end(shape, 2);
  return before == after || (before % from.tile().height == 0 && after % from.tile().height == 0);
}

bool gathers_rows(const TensorSpec& from, const Shape& shape) {
  const Shape& old = from.logical_shape();
  return shape.rank() > 0 && from.layout() == Layout::tile && from_end(old, 1) == from_end(shape, 1) &&
         from_end(old, 2) == 1 && shape.as_2d().height == from_end(shape, 2);
}

// Elements of tiles whose exponents are shared are moved as bfloat16. Tiles are filled up before they are packed again:
// what lies there by chance would take part in the exponents.
DeviceTensor reshape_packed(const DeviceTensor& x, const Shape& shape, const std::optional<MemoryConfig>& config) {
  const DeviceTensor wide = typecast(x, DType::bfloat16);
  const DeviceTensor moved = reshape(wide, shape, config);
  if (const auto buffers = fill_padding_buffers(moved.spec(), x.device()->card()); !buffers.empty()) {
    place_program(*x.device(), buffers);
    finish_program({ProgramKind::pad, shape.to_string(), stream_transfers(moved, moved)}, {&moved}, moved);
  }
  return typecast(moved, x.spec().dtype());
}

}  // namespace

Shape resolve_shape(std::span<const std::int64_t> dims, std::int64_t volume) {
  std::vector<std::int64_t> out(dims.begin(), dims.end());
  std::vector<std::int64_t> given;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != -1) {
      check(out[i] >= 0, Code::invalid_argument, "reshape: extent {} of [{}] is negative", out[i],
            fmt::join(dims, ", "));
      given.push_back(out[i]);
      continue;
    }
    check(!open, Code::invalid_argument, "reshape: [{}] leaves more than one extent open with -1",
          fmt::join(dims, ", "));
    open = i;
  }
  if (open) {
    const std::int64_t known = Shape(given).volume();  // refuses what cannot be counted
    check(known > 0 && volume % known == 0, Code::invalid_argument, "reshape: {} elements cannot fill [{}]", volume,
          fmt::join(dims, ", "));
    out[*open] = volume / known;
  }
  return Shape(std::move(out));
}

DeviceTensor reshape(const DeviceTensor& x, const Shape& shape, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  check(shape.volume() == from.logical_shape().volume(), Code::invalid_argument,
        "reshape: {} has {} elements, {} has {}", from.logical_shape().to_string(), from.logical_shape().volume(),
        shape.to_string(), shape.volume());
  const bool same_place = !config || *config == from.memory_config();
  if (same_place && shape == from.logical_shape()) return x;
  if (same_place && keeps_pages(from, shape))
    return x.view(TensorSpec(shape, from.dtype(), from.layout(), from.memory_config(), from.tile()));

  const MemoryConfig place = config ? *config : inherited_placement(from, shape);
  if (is_block_float(from.dtype()) && !from.memory_config().is_sharded() && !place.is_sharded())
    return reshape_packed(x, shape, config);
  DeviceTensor y =
      DeviceTensor::allocate(x.device(), TensorSpec(shape, from.dtype(), from.layout(), place, from.tile()));
  if (gathers_rows(from, shape)) place_program(*x.device(), gather_rows_buffers(from, y.spec(), x.device()->card()));
  const DType element = is_block_float(from.dtype()) ? DType::float32 : from.dtype();
  write_values(y, [&] {
    return Tensor::from_elements(read_pages(x).to_elements(element), element, shape, from.dtype(), from.layout(),
                                 from.tile());
  });
  finish_program({ProgramKind::reshape, fmt::format("{} to {}", from.logical_shape().to_string(), shape.to_string()),
                  stream_transfers(x, y)},
                 {&x}, y);
  return y;
}

}  // namespace tessera::tensix
