#include "tessera/core/error.h"
#include "tessera/io/emit/python_text.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/node_run.h"
#include "tessera/targets/tensix/ops/permute/permute.h"
#include "tessera/targets/tensix/ops/permute/rearrange.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"
#include "tessera/targets/tensix/ops/ttnn_call.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tessera::tensix {
namespace {

using Order = std::vector<int>;

Order checked_order(const Shape& shape, std::span<const std::int64_t> order) {
  const int rank = shape.rank();
  check(order.size() == static_cast<std::size_t>(rank), Code::invalid_argument,
        "permute: the order [{}] has {} dimensions, the tensor {} has {}", fmt::join(order, ", "), order.size(),
        shape.to_string(), rank);
  Order out;
  for (const std::int64_t d : order) {
    check(d >= -rank && d < rank, Code::invalid_argument,
          "permute: the dimensions of this tensor are 0 to {} (or -{} to -1, from the end), not {}", rank - 1, rank, d);
    out.push_back(static_cast<int>(d < 0 ? d + rank : d));
    check(std::count(out.begin(), out.end(), out.back()) == 1, Code::invalid_argument,
          "permute: the order [{}] names dimension {} twice", fmt::join(order, ", "), out.back());
  }
  return out;
}

// Whether only dimensions of one element move, and none of those that make up a page: the memory stays as it is.
bool changes_nothing(const TensorSpec& spec, const Order& order) {
  const int rank = spec.logical_shape().rank();
  const int page_dims = spec.layout() == Layout::tile ? 2 : 1;
  for (int d = 0; d < rank; ++d)
    if (order[static_cast<std::size_t>(d)] != d && (spec.logical_shape()[d] > 1 || d >= rank - page_dims)) return false;
  return true;
}

// Up to rank 4, a swap of neighbours is a transpose, for which TTNN has programs of its own.
struct Swap {
  bool of_last = false, of_first = false, of_middle = false;

  bool is_transpose() const { return of_last || of_first || of_middle; }
};

Swap swap_of(const Order& order) {
  const int rank = static_cast<int>(order.size());
  if (rank > 4) return {};
  Order full;
  for (int d = 0; d < 4 - rank; ++d) full.push_back(d);
  for (const int d : order) full.push_back(d + 4 - rank);
  return {full == Order{0, 1, 3, 2}, full == Order{1, 0, 2, 3}, full == Order{0, 2, 1, 3}};
}

// TTNN permutes these tiles of block floats as they are; others become bfloat16 on the way.
bool keeps_block_floats(const Order& order) {
  const Swap swap = swap_of(order);
  return order.size() > 4 || swap.of_last || swap.of_first || order == Order{1, 0, 3, 2};
}

std::vector<std::byte> permuted(std::span<const std::byte> from, const Shape& shape, const Order& order,
                                std::size_t element_bytes) {
  const std::size_t rank = order.size();
  std::vector<std::int64_t> strides(rank, 1);
  for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * shape[static_cast<int>(d)];
  std::vector<std::byte> to(from.size());
  std::vector<std::int64_t> at(rank, 0);
  for (std::size_t i = 0; i < from.size(); i += element_bytes) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < rank; ++d) source += at[d] * strides[static_cast<std::size_t>(order[d])];
    std::memcpy(to.data() + i, from.data() + static_cast<std::size_t>(source) * element_bytes, element_bytes);
    for (std::size_t d = rank; d-- > 0;) {
      if (++at[d] < shape[order[d]]) break;
      at[d] = 0;
    }
  }
  return to;
}

DeviceTensor run_permute(const DeviceTensor& x, const Order& order, const MemoryConfig& place) {
  const TensorSpec& from = x.spec();
  std::vector<std::int64_t> dims;
  for (const int d : order) dims.push_back(from.logical_shape()[d]);
  const Shape shape(std::move(dims));
  DeviceTensor y =
      DeviceTensor::allocate(x.device(), TensorSpec(shape, from.dtype(), from.layout(), place, from.tile()));
  const DType element = is_block_float(from.dtype()) ? DType::float32 : from.dtype();
  write_values(y, [&] {
    const std::vector<std::byte> elements = permuted(read_pages(x).to_elements(element), from.logical_shape(), order,
                                                     static_cast<std::size_t>(element_bytes(element)));
    return Tensor::from_elements(elements, element, shape, from.dtype(), from.layout(), from.tile(), Rounding::packer);
  });
  finish_program(
      {swap_of(order).is_transpose() ? ProgramKind::transpose : ProgramKind::permute,
       fmt::format("{} by [{}]", from.logical_shape().to_string(), fmt::join(order, ", ")), stream_transfers(x, y)},
      {&x}, y);
  return y;
}

// --- in networks ---

std::string rearrange_name(const RearrangeLayer& layer) { return layer.keeps_order() ? "reshape" : "permute"; }

std::optional<CallRole> rearrange_role(std::string_view name) {
  if (name == "permute") return CallRole::converts;
  return std::nullopt;  // a reshape is called so by its own row
}

std::string rearrange_digest(const RearrangeLayer& layer) {
  return fmt::format("[{}] by [{}]", fmt::join(layer.dims, ", "), fmt::join(layer.order, ", "));
}

// Rows in DRAM: neither dimensions nor their order need be whole tiles.
DeviceTensor run_rearrange(const RearrangeLayer& layer, NodeRun& node) {
  const Extent2d out = node.output_matrix();
  return node.fit(
      [&] {
        DeviceTensor x = in_rows(in_dram(node.input()));
        if (!layer.keeps_order()) x = permute(reshape(x, Shape(layer.dims)), layer.order);
        return reshape(x, Shape{1, 1, out.height, out.width});
      },
      false);
}

std::string emit_rearrange(const RearrangeLayer& layer, TtnnCall& call) {
  const Extent2d out = call.output_matrix();
  std::string x = call.place().memory == kDramMemoryConfig ? call.input() : py_in_dram(call.input());
  if (call.is_tiled()) x = py_in_layout(x, Layout::row_major);
  std::string text;
  if (!layer.keeps_order()) {
    text = emit::py_call(4, "x = ttnn.reshape(", {x, emit::py_list(Shape(layer.dims))});
    text += emit::py_call(4, "x = ttnn.permute(", {"x", emit::py_list(Shape(layer.order))});
    x = "x";
  }
  return text + call.assign("ttnn.reshape", {x, fmt::format("[1, 1, {}, {}]", out.height, out.width)});
}

bool keeps_images(const RearrangeLayer& layer) {
  return !layer.dims.empty() && layer.order[0] == 0 && layer.dims[0] % layer.images == 0;
}

void set_rearranged_images(RearrangeLayer& layer, std::int64_t images) {
  layer.dims[0] = layer.dims[0] / layer.images * images;
  layer.images = images;
}

// Tiles are turned one by one on their way through the core.
void count_transpose(TensorWork& w) { w.element_wise(1, false); }

}  // namespace

DeviceTensor permute(const DeviceTensor& x, std::span<const std::int64_t> order,
                     const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Order checked = checked_order(from.logical_shape(), order);
  const MemoryConfig place = config.value_or(from.memory_config());
  if (changes_nothing(from, checked)) return to_memory_config(x, place);
  check(!from.memory_config().is_sharded() && !place.is_sharded(), Code::unsupported,
        Hint{"use to_memory_config before and after it"},
        "permute: tensors in shards are not supported, this one lies in {} and its result would in {}",
        from.memory_config().to_string(), place.to_string());
  if (from.dtype() != DType::bfloat8_b || keeps_block_floats(checked)) return run_permute(x, checked, place);
  return typecast(run_permute(typecast(x, DType::bfloat16), checked, place), DType::bfloat8_b);
}

const CardOp card_op_permute = {.kind = ProgramKind::permute,
                                .count = count_rearranged,
                                .lower = lower_rearrangement,
                                .any_columns = true,
                                .ttnn_name = on_layer<rearrange_name>,
                                .named_role = rearrange_role,
                                .digest = on_layer<rearrange_digest>,
                                .run = on_layer<run_rearrange>,
                                .emit = on_layer<emit_rearrange>,
                                .keeps_images_apart = on_layer<keeps_images>,
                                .set_images = on_layer<set_rearranged_images>};
// Of the last two dimensions of tiles: each tile is turned on its way through the core.
const CardOp card_op_transpose = {.kind = ProgramKind::transpose, .count = count_transpose, .role = CallRole::converts};

const CardOp* RearrangeLayer::op() const { return &card_op_permute; }

}  // namespace tessera::tensix
