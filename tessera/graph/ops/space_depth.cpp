#include "tessera/graph/ops/space_depth.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/internal/most_elements.h"

#include <cstring>

namespace tessera {
namespace {

using internal::kMostElements;
constexpr std::int64_t kMostBlock = std::int64_t{1} << 20;

void check_block(std::int64_t block, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_rank(0, 4, 4);
  check(block >= 1 && block <= kMostBlock, Code::invalid_argument, "{}: a block of {} is not in [1, {}]", inputs.op(),
        block, kMostBlock);
}

std::int64_t divided(std::int64_t extent, std::int64_t by, std::string_view what, std::string_view op) {
  if (extent == TensorType::kUnknown) return extent;
  check(extent % by == 0, Code::invalid_argument, "{}: {} of {} does not divide by {}", op, what, extent, by);
  return extent / by;
}

std::int64_t multiplied(std::int64_t extent, std::int64_t by, std::string_view what, std::string_view op) {
  if (extent == TensorType::kUnknown) return extent;
  check(extent <= kMostElements / by, Code::invalid_argument, "{}: {} of {} cannot grow {} times", op, what, extent,
        by);
  return extent * by;
}

// Copies every element of the deep tensor [N, depth, H, W] to or from its place in the wide one [N, C, H * b, W * b].
void rearrange(const Array& from, Array& to, bool to_wide, std::int64_t block, bool column_row_depth) {
  const Shape& deep = to_wide ? from.shape() : to.shape();
  const Shape& wide = to_wide ? to.shape() : from.shape();
  const auto bytes = static_cast<std::size_t>(element_bytes(from.type()));
  const std::int64_t channels = wide[1];
  std::int64_t at = 0;
  for (std::int64_t n = 0; n < deep[0]; ++n)
    for (std::int64_t depth = 0; depth < deep[1]; ++depth) {
      // CRD: channel, block row, block column. DCR: block row, block column, channel.
      const std::int64_t channel = column_row_depth ? depth / (block * block) : depth % channels;
      const std::int64_t within = column_row_depth ? depth % (block * block) : depth / channels;
      for (std::int64_t h = 0; h < deep[2]; ++h)
        for (std::int64_t w = 0; w < deep[3]; ++w, ++at) {
          const std::int64_t row = h * block + within / block, column = w * block + within % block;
          const std::int64_t other = ((n * channels + channel) * wide[2] + row) * wide[3] + column;
          const std::int64_t source = to_wide ? at : other, target = to_wide ? other : at;
          std::memcpy(to.bytes().data() + static_cast<std::size_t>(target) * bytes,
                      from.bytes().data() + static_cast<std::size_t>(source) * bytes, bytes);
        }
    }
}

}  // namespace

std::vector<TensorType> infer(const DepthToSpace& op, const Knowns& inputs) {
  check_block(op.block, inputs);
  const TensorType& x = inputs[0];
  if (!x.dims) return {TensorType(x.type, std::vector<std::int64_t>(4, TensorType::kUnknown))};
  const auto& d = *x.dims;
  return {TensorType(x.type, std::vector<std::int64_t>{d[0], divided(d[1], op.block * op.block, "a depth", inputs.op()),
                                                       multiplied(d[2], op.block, "a height", inputs.op()),
                                                       multiplied(d[3], op.block, "a width", inputs.op())})};
}

Work work(const DepthToSpace&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const DepthToSpace& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const std::int64_t b = op.block;
  Array y(x.type(), Shape{x.shape()[0], x.shape()[1] / (b * b), x.shape()[2] * b, x.shape()[3] * b});
  rearrange(x, y, true, b, op.column_row_depth);
  return {std::move(y)};
}

std::vector<TensorType> infer(const SpaceToDepth& op, const Knowns& inputs) {
  check_block(op.block, inputs);
  const TensorType& x = inputs[0];
  if (!x.dims) return {TensorType(x.type, std::vector<std::int64_t>(4, TensorType::kUnknown))};
  const auto& d = *x.dims;
  return {
      TensorType(x.type, std::vector<std::int64_t>{d[0], multiplied(d[1], op.block * op.block, "a depth", inputs.op()),
                                                   divided(d[2], op.block, "a height", inputs.op()),
                                                   divided(d[3], op.block, "a width", inputs.op())})};
}

Work work(const SpaceToDepth&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }

std::vector<Array> reference(const SpaceToDepth& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const std::int64_t b = op.block;
  Array y(x.type(), Shape{x.shape()[0], x.shape()[1] * b * b, x.shape()[2] / b, x.shape()[3] / b});
  rearrange(x, y, false, b, false);
  return {std::move(y)};
}

}  // namespace tessera
