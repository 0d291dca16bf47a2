#include "tessera/targets/tensix/ops/concat/concat.h"

#include "tessera/core/elements.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/movement_buffers.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/card/shard_inheritance.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

// Checks the inputs against the first; the result's shape.
Shape joined_shape(std::span<const DeviceTensor> inputs, int dim) {
  const TensorSpec& first = inputs.front().spec();
  std::vector<std::int64_t> dims = first.logical_shape().dims();
  dims[static_cast<std::size_t>(dim)] = 0;
  for (const DeviceTensor& x : inputs) {
    const TensorSpec& s = x.spec();
    check(x.device() == inputs.front().device(), Code::invalid_argument,
          "concat: the tensors are on different devices");
    check(s.logical_shape().rank() == first.logical_shape().rank(), Code::invalid_argument,
          "concat: shapes {} and {} differ in rank", first.logical_shape().to_string(), s.logical_shape().to_string());
    for (int d = 0; d < s.logical_shape().rank(); ++d)
      check(d == dim || s.logical_shape()[d] == first.logical_shape()[d], Code::invalid_argument,
            "concat: shapes {} and {} must agree in all dimensions but {}", first.logical_shape().to_string(),
            s.logical_shape().to_string(), dim);
    check(s.dtype() == first.dtype(), Code::invalid_argument, Hint{"use typecast"},
          "concat: the tensors have dtypes {} and {}", name(first.dtype()), name(s.dtype()));
    const MemoryConfig &a = first.memory_config(), &b = s.memory_config();
    check(a.is_sharded() == b.is_sharded(), Code::invalid_argument, Hint{"use to_memory_config"},
          "concat: {} and {} tensors cannot be mixed: all must be sharded or all interleaved", name(a.layout()),
          name(b.layout()));
    check(!a.shard_spec() || !b.shard_spec() || a.shard_spec()->grid == b.shard_spec()->grid, Code::invalid_argument,
          Hint{"use to_memory_config"}, "concat: sharded tensors must have the same grid, not {} and {}",
          a.shard_spec() ? a.shard_spec()->grid.to_string() : "",
          b.shard_spec() ? b.shard_spec()->grid.to_string() : "");
    dims[static_cast<std::size_t>(dim)] += s.logical_shape()[dim];
  }
  return Shape(std::move(dims));
}

std::vector<const DeviceTensor*> pointers(std::span<const DeviceTensor> tensors) {
  std::vector<const DeviceTensor*> out;
  for (const DeviceTensor& t : tensors) out.push_back(&t);
  return out;
}

bool pads_along(const TensorSpec& spec, int dim) {
  return spec.layout() == Layout::tile &&
         spec.padded_shape()[dim - spec.logical_shape().rank()] != spec.logical_shape()[dim];
}

// Shards cut along the dimension that grows cannot grow where they are: interleaved copies are joined instead.
// Otherwise each core joins its own shards, and an interleaved result is made from those.
bool splits_along(const TensorSpec& spec, int dim) {
  const bool last = dim + 1 == spec.logical_shape().rank();
  switch (spec.memory_config().layout()) {
    case TensorMemoryLayout::height_sharded: return !last;
    case TensorMemoryLayout::width_sharded: return last;
    default: return false;
  }
}

DeviceTensor join(std::span<const DeviceTensor> inputs, int dim, const Shape& shape, const MemoryConfig& config,
                  int groups) {
  const TensorSpec& first = inputs.front().spec();
  const std::size_t rank = static_cast<std::size_t>(shape.rank());
  DeviceTensor y = DeviceTensor::allocate(inputs.front().device(),
                                          TensorSpec(shape, first.dtype(), first.layout(), config, first.tile()));
  std::vector<TensorSpec> parts;
  for (const DeviceTensor& x : inputs) parts.push_back(x.spec());
  place_program(*y.device(), concat_buffers(parts, y.spec(), y.device()->card()));
  const DType element = is_block_float(first.dtype()) ? DType::float32 : first.dtype();
  const bool values = y.device()->options().values;
  std::vector<std::byte> elements(values ? static_cast<std::size_t>(shape.volume() * element_bytes(element)) : 0);
  TraceRecord record{
      ProgramKind::concat, fmt::format("{} tensors along {} to {}", inputs.size(), dim, shape.to_string()), {}};
  const std::size_t along = static_cast<std::size_t>(dim);
  std::int64_t before = 0;  // of the tensors before this one, in each group
  for (const DeviceTensor& x : inputs) {
    record.transfers.push_back(stream_transfers(x, y).front());
    if (!values) continue;
    const Shape& whole = x.spec().logical_shape();
    const Bytes from = read_pages(x).to_elements(element);
    std::vector<std::int64_t> extents = whole.dims();
    extents[along] /= groups;
    for (std::int64_t group = 0; group < groups; ++group) {
      std::vector<std::int64_t> begin(rank, 0), at(rank, 0);
      begin[along] = group * extents[along];
      at[along] = group * (shape[dim] / groups) + before;
      copy_box({Shape(extents), whole, shape, begin, std::vector<std::int64_t>(rank, 1), at}, element_bytes(element),
               from.data(), elements.data());
    }
    before += extents[along];
  }
  write_values(
      y, [&] { return Tensor::from_elements(elements, element, shape, first.dtype(), first.layout(), first.tile()); });
  record.transfers.push_back(stream_transfers(y, y).back());
  finish_program(std::move(record), pointers(inputs), y);
  return y;
}

}  // namespace

DeviceTensor concat(std::span<const DeviceTensor> inputs, int dim, const std::optional<MemoryConfig>& config,
                    int groups) {
  check(!inputs.empty(), Code::invalid_argument, "concat: the list of tensors is empty");
  for (const DeviceTensor& x : inputs) x.check_allocated();
  const int rank = inputs.front().spec().logical_shape().rank();
  check(dim >= -rank && dim < rank, Code::invalid_argument,
        "concat: dim {} is out of range, it should be between 0 and {}", dim, rank - 1);
  if (dim < 0) dim += rank;
  check(groups >= 1, Code::invalid_argument, "concat: groups is {}, it must be at least 1", groups);
  for (std::size_t i = 0; i < inputs.size() && groups > 1; ++i) {
    const Shape& shape = inputs[i].spec().logical_shape();
    check(dim < shape.rank() && shape[dim] % groups == 0, Code::invalid_argument,
          "concat: tensor {} of shape {} cannot be cut into equal groups along dimension {} ({} by groups={})", i,
          shape.to_string(), dim, dim < shape.rank() ? shape[dim] : 0, groups);
  }
  if (inputs.size() == 1) return config ? to_memory_config(inputs.front(), *config) : inputs.front();
  const Shape shape = joined_shape(inputs, dim);
  const MemoryConfig place = config.value_or(kDramMemoryConfig);

  const auto is_tiled = [](const DeviceTensor& x) { return x.spec().layout() == Layout::tile; };
  const bool any_tiled = std::any_of(inputs.begin(), inputs.end(), is_tiled);
  const bool all_tiled = std::all_of(inputs.begin(), inputs.end(), is_tiled);
  const bool needs_rows =
      std::any_of(inputs.begin(), inputs.end(), [&](const DeviceTensor& x) { return pads_along(x.spec(), dim); });
  if (any_tiled && (needs_rows || !all_tiled)) {
    std::vector<DeviceTensor> rows;
    for (const DeviceTensor& x : inputs) rows.push_back(to_layout(x, Layout::row_major));
    const DeviceTensor joined = join(rows, dim, shape, place.is_sharded() ? kDramMemoryConfig : place, groups);
    // What went through rows comes back as bfloat16, as TTNN leaves it.
    const DType dtype = inputs.front().spec().dtype();
    return to_layout(joined, Layout::tile, is_block_float(dtype) ? DType::bfloat16 : dtype, place);
  }
  if (splits_along(inputs.front().spec(), dim)) {
    std::vector<DeviceTensor> copies;
    for (const DeviceTensor& x : inputs)
      copies.push_back(to_memory_config(x, place.is_sharded() ? kDramMemoryConfig : place));
    return join(copies, dim, shape, place, groups);
  }
  const TensorSpec& first = inputs.front().spec();
  if (first.memory_config().is_sharded() && !place.is_sharded())
    return to_memory_config(join(inputs, dim, shape, inherited_placement(first, shape), groups), place);
  return join(inputs, dim, shape, place, groups);
}

}  // namespace tessera::tensix
