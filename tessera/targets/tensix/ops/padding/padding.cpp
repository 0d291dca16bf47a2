#include "tessera/targets/tensix/ops/padding/padding.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/movement_buffers.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <algorithm>
#include <vector>

namespace tessera::tensix {
namespace {

// The same memory, its padding being elements too.
DeviceTensor with_padding(const DeviceTensor& x) {
  const TensorSpec& from = x.spec();
  return x.view(TensorSpec(from.padded_shape(), from.dtype(), from.layout(), from.memory_config(), from.tile()));
}

// Elements of one shape as those of another, from the first of each dimension; others are `value`.
// Fewer dimensions are the last ones.
std::vector<double> resized(const std::vector<double>& x, const Shape& shape, const Shape& to, double value) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.insert(dims.begin(), static_cast<std::size_t>(to.rank()) - dims.size(), 1);
  const Shape from(dims);
  const std::vector<std::int64_t> strides = strides_of(from);
  std::vector<double> y(static_cast<std::size_t>(to.volume()), value);
  Coordinates here(to);
  for (double& v : y) {
    std::int64_t offset = 0;
    bool inside = true;
    for (int d = 0; d < to.rank(); ++d) {
      const std::int64_t i = here.at()[static_cast<std::size_t>(d)];
      inside = inside && i < from[d];
      offset += i * strides[static_cast<std::size_t>(d)];
    }
    if (inside) v = x[static_cast<std::size_t>(offset)];
    here.next();
  }
  return y;
}

}  // namespace

DeviceTensor fill_padding(const DeviceTensor& x, double value, const std::optional<MemoryConfig>& config) {
  constexpr std::string_view op = "fill_implicit_tile_padding";
  x.check_allocated();
  const TensorSpec& from = x.spec();
  check(from.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: the input must be in TILE layout, it is in {}", op, name(from.layout()));
  if (from.padded_shape() == from.logical_shape()) return x;
  check(from.dtype() != DType::uint8, Code::unsupported, Hint{"use typecast"}, "{}: {} is not supported", op,
        name(from.dtype()));
  const TensorSpec result = from.with_memory_config(place_of_result(config, x, from.logical_shape()));
  DeviceTensor y = DeviceTensor::allocate(x.device(), result);
  check_whole_program_fits({&x}, {&y});
  if (x.device()->options().values) {
    DeviceTensor all = with_padding(y);
    write_values(all, [&] {
      return tensor_of(resized(numbers_of(x), from.logical_shape(), from.padded_shape(), value), all.spec());
    });
  }
  finish_whole_program(ProgramKind::fill_padding, op, {&x}, y);
  return y;
}

DeviceTensor untilize_with_unpadding(const DeviceTensor& x, const Shape& last,
                                     const std::optional<MemoryConfig>& config) {
  constexpr std::string_view op = "untilize_with_unpadding";
  x.check_allocated();
  const TensorSpec& from = x.spec();
  check(from.layout() == Layout::tile, Code::unsupported, "{}: the input must be in TILE layout, it is in {}", op,
        name(from.layout()));
  const Shape& padded = from.padded_shape();
  check(last.rank() == padded.rank(), Code::invalid_argument, "{}: the end {} has {} dimensions, the input {}", op,
        last.to_string(), last.rank(), padded.rank());
  std::vector<std::int64_t> dims;
  for (int d = 0; d < last.rank(); ++d) {
    check(last[d] < padded[d], Code::invalid_argument, "{}: the end {} lies outside of {}", op, last.to_string(),
          padded.to_string());
    dims.push_back(last[d] + 1);
  }
  const Shape shape(dims);
  if (shape == from.logical_shape()) return to_layout(x, Layout::row_major, std::nullopt, config);
  const DType dtype = is_block_float(from.dtype()) ? DType::bfloat16 : from.dtype();
  const MemoryConfig place =
      config.value_or(from.memory_config().is_sharded()
                          ? MemoryConfig(TensorMemoryLayout::interleaved, from.memory_config().buffer_type())
                          : from.memory_config());
  const TensorSpec result(shape, dtype, Layout::row_major, place);
  DeviceTensor y = DeviceTensor::allocate(x.device(), result);
  place_program(*x.device(), untilize_buffers(from, result, x.device()->card()));
  write_values(y, [&] { return tensor_of(resized(numbers_of(with_padding(x)), padded, shape, 0), y.spec()); });
  finish_whole_program(ProgramKind::untilize_with_unpadding, op, {&x}, y);
  return y;
}

DeviceTensor tilize_with_padding(const DeviceTensor& x, const Shape& padded, double value,
                                 const std::optional<MemoryConfig>& config, std::optional<DType> dtype) {
  constexpr std::string_view op = "tilize_with_val_padding";
  x.check_allocated();
  const TensorSpec& from = x.spec();
  if (from.layout() == Layout::tile) return x;
  const Shape& shape = from.logical_shape();
  check(padded.rank() == shape.rank(), Code::invalid_argument, "{}: the shape {} has {} dimensions, the input {}", op,
        padded.to_string(), padded.rank(), shape.rank());
  for (int d = 0; d < shape.rank(); ++d)
    check(padded[d] >= shape[d], Code::invalid_argument, "{}: {} is less than the input {} in dimension {}", op,
          padded.to_string(), shape.to_string(), d);
  check(from.dtype() != DType::uint8, Code::unsupported, Hint{"use typecast"},
        "{}: UINT8 is not supported, only BFLOAT16, FLOAT32, INT32, UINT32 and UINT16", op);
  check(padded.rank() >= 2 && padded[-1] % kTile == 0 && padded[-2] % kTile == 0, Code::invalid_argument,
        "{}: {} is not made of whole tiles of {} x {}", op, padded.to_string(), kTile, kTile);
  const MemoryConfig place = place_of_result(config, x, padded);
  const DType to = dtype.value_or(from.dtype());
  // Where only tiles are filled up, the result keeps the shape of x.
  std::vector<std::int64_t> tiles = shape.dims();
  for (std::size_t d = tiles.size() - 2; d < tiles.size(); ++d) tiles[d] = round_up(tiles[d], kTile);
  const bool keeps_shape = Shape(tiles) == padded;
  const TensorSpec result(keeps_shape ? shape : padded, to, Layout::tile, place);
  DeviceTensor y = DeviceTensor::allocate(x.device(), result);
  place_program(*x.device(), tilize_buffers(from, result, x.device()->card()));
  if (x.device()->options().values) {
    DeviceTensor all = with_padding(y);
    write_values(all, [&] { return tensor_of(resized(numbers_of(x), shape, padded, value), all.spec()); });
  }
  finish_whole_program(ProgramKind::tilize_with_val_padding, op, {&x}, y);
  return y;
}

const CardOp card_op_fill_padding = {
    .kind = ProgramKind::fill_padding, .count = count_copied_pages, .role = CallRole::converts};

}  // namespace tessera::tensix
