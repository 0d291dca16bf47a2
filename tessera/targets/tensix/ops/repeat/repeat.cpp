#include "tessera/targets/tensix/ops/repeat/repeat.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <fmt/ranges.h>

#include <cstring>
#include <string>
#include <vector>

namespace tessera::tensix {
namespace {

// How a dimension repeats: as a whole, or each of its slices.
enum class Order { whole, each };

DeviceTensor run_repeat(const DeviceTensor& x, int dim, std::int64_t count, Order order, const MemoryConfig& place) {
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  std::vector<std::int64_t> dims = shape.dims();
  dims[static_cast<std::size_t>(dim)] *= count;
  const Shape grown(std::move(dims));
  DeviceTensor y =
      DeviceTensor::allocate(x.device(), TensorSpec(grown, from.dtype(), from.layout(), place, from.tile()));
  write_values(y, [&] {
    const DType element = is_block_float(from.dtype()) ? DType::float32 : from.dtype();
    const Bytes in = read_pages(x).to_elements(element);
    std::size_t block = static_cast<std::size_t>(element_bytes(element));
    for (int d = dim + (order == Order::each ? 1 : 0); d < shape.rank(); ++d)
      block *= static_cast<std::size_t>(shape[d]);
    std::vector<std::byte> out;
    out.reserve(in.size() * static_cast<std::size_t>(count));
    for (std::size_t at = 0; at < in.size(); at += block)
      for (std::int64_t i = 0; i < count; ++i)
        out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(at),
                   in.begin() + static_cast<std::ptrdiff_t>(at + block));
    return Tensor::from_elements(out, element, grown, from.dtype(), from.layout(), from.tile(), Rounding::packer);
  });
  finish_program({ProgramKind::repeat, fmt::format("{} to {}", shape.to_string(), grown.to_string()),
                  stream_transfers(x, y), nullptr, order == Order::each ? "repeat_interleave" : ""},
                 {&x}, y);
  return y;
}

bool padded(const TensorSpec& spec) {
  return spec.layout() == Layout::tile && spec.padded_shape() != spec.logical_shape();
}

// Padded tiles repeat as rows, and come back as tiles.
template <class Repeat>
DeviceTensor by_rows(const DeviceTensor& x, const MemoryConfig& place, Repeat&& repeat_rows) {
  const DType dtype = is_block_float(x.spec().dtype()) ? DType::bfloat16 : x.spec().dtype();
  return to_layout(repeat_rows(to_layout(x, Layout::row_major)), Layout::tile, dtype, place);
}

// A result of another shape keeps no shards.
MemoryConfig place_of(const DeviceTensor& x, const std::optional<MemoryConfig>& config) {
  const MemoryConfig& own = x.spec().memory_config();
  return config ? *config : own.is_sharded() ? MemoryConfig(TensorMemoryLayout::interleaved, own.buffer_type()) : own;
}

}  // namespace

DeviceTensor repeat(const DeviceTensor& x, std::span<const std::int64_t> counts,
                    const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  std::vector<std::int64_t> all(counts.begin(), counts.end());
  for (const std::int64_t count : all)
    check(count >= 0, Code::invalid_argument, "repeat: a count of [{}] is negative", fmt::join(counts, ", "));
  const int rank = x.spec().logical_shape().rank();
  if (static_cast<int>(all.size()) > rank) return repeat(unsqueeze_to(x, static_cast<int>(all.size())), counts, config);
  all.insert(all.begin(), static_cast<std::size_t>(rank) - all.size(), 1);
  const MemoryConfig place = place_of(x, config);
  bool repeats = false;
  for (const std::int64_t count : all) repeats = repeats || count != 1;
  if (!repeats) return config ? to_memory_config(x, place) : x;
  if (padded(x.spec())) return by_rows(x, place, [&](const DeviceTensor& rows) { return repeat(rows, all, config); });
  DeviceTensor y = x;
  for (int d = 0; d < rank; ++d)
    if (all[static_cast<std::size_t>(d)] != 1)
      y = run_repeat(y, d, all[static_cast<std::size_t>(d)], Order::whole, place);
  return y;
}

DeviceTensor repeat_interleave(const DeviceTensor& x, std::int64_t count, int dim,
                               const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  check(count >= 1, Code::invalid_argument, "repeat_interleave: {} repeats are not possible", count);
  const int d = checked_dim("repeat_interleave", dim, x.spec().logical_shape().rank());
  const MemoryConfig place = place_of(x, config);
  if (count == 1) return config ? to_memory_config(x, place) : x;
  // Slices of tiles are rows of them.
  if (x.spec().layout() == Layout::tile && (padded(x.spec()) || d + 2 >= x.spec().logical_shape().rank()))
    return by_rows(x, place, [&](const DeviceTensor& rows) { return repeat_interleave(rows, count, d, config); });
  return run_repeat(x, d, count, Order::each, place);
}

DeviceTensor expand(const DeviceTensor& x, std::span<const std::int64_t> shape,
                    const std::optional<MemoryConfig>& config) {
  const Shape& from = x.spec().logical_shape();
  const std::size_t rank = static_cast<std::size_t>(from.rank());
  check(shape.size() >= rank, Code::invalid_argument,
        "expand: a tensor of rank {} does not fit the {} dimensions of [{}]", rank, shape.size(),
        fmt::join(shape, ", "));
  const std::size_t more = shape.size() - rank;
  std::vector<std::int64_t> counts;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t extent = d < more ? 1 : from.dims()[d - more];
    const bool stays = shape[d] == -1 || shape[d] == extent;
    check(stays || extent == 1, Code::invalid_argument,
          "expand: only dimensions of size 1 can be expanded, dimension {} of {} is {} and {} is asked for", d,
          from.to_string(), extent, shape[d]);
    counts.push_back(stays ? 1 : shape[d]);
  }
  return repeat(x, counts, config);
}

}  // namespace tessera::tensix
