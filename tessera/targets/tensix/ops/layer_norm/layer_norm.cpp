#include "tessera/targets/tensix/ops/layer_norm/layer_norm.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kGrain = 16 << 10;

std::string_view op_of(RowNorm norm) { return norm == RowNorm::layer ? "layer_norm" : "rms_norm"; }

void check_operand(std::string_view op, std::string_view what, const std::optional<DeviceTensor>& t,
                   const DeviceTensor& x) {
  if (!t) return;
  t->check_allocated();
  check(t->device() == x.device(), Code::invalid_argument, "{}: the {} is on another device", op, what);
  check(is_floating(t->spec().dtype()), Code::unsupported, Hint{"use typecast"},
        "{}: the {} is {}, it must be floating", op, what, name(t->spec().dtype()));
}

void check_row(std::string_view op, std::string_view what, const std::optional<DeviceTensor>& t,
               const DeviceTensor& x) {
  check_operand(op, what, t, x);
  const std::int64_t columns = x.spec().logical_shape()[-1];
  check(!t || t->spec().logical_shape().volume() == columns, Code::invalid_argument,
        "{}: the {} of shape {} does not have one value for each of the {} columns", op, what,
        t ? t->spec().logical_shape().to_string() : "", columns);
}

std::vector<float> values_of(const std::optional<DeviceTensor>& t) {
  return t ? read_pages(*t).to_float32() : std::vector<float>{};
}

// Sums are kept in float32 or wider; what goes from one step to the next is as Dst holds it.
void normalize(RowNorm norm, std::span<float> row, std::span<const float> weight, std::span<const float> bias,
               float epsilon) {
  const double count = static_cast<double>(row.size());
  double mean = 0, square = 0;
  if (norm == RowNorm::layer) {
    for (const float v : row) mean += static_cast<double>(v);
    mean /= count;
  }
  for (const float v : row) square += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  const double inverse = 1 / std::sqrt(square / count + static_cast<double>(epsilon));
  for (std::size_t i = 0; i < row.size(); ++i) {
    double v = (static_cast<double>(row[i]) - mean) * inverse;
    if (!weight.empty()) v *= static_cast<double>(weight[i]);
    if (!bias.empty()) v += static_cast<double>(bias[i]);
    row[i] = from_vector_unit(static_cast<float>(v), true);
  }
}

void check_blocks(std::string_view op, const TensorSpec& x, const LayerNormOptions& options) {
  const MemoryConfig& memory = x.memory_config();
  if (memory.is_sharded()) {
    check(memory.layout() != TensorMemoryLayout::height_sharded, Code::unsupported, Hint{"use to_memory_config"},
          "{}: height-sharded inputs are not supported", op);
    check(!options.memory_config || (options.memory_config->is_sharded() &&
                                     options.memory_config->layout() != TensorMemoryLayout::height_sharded),
          Code::unsupported, Hint{"use to_memory_config after it"}, "{}: an input in shards needs a result in shards",
          op);
    check(!options.residual || options.residual->spec().memory_config() == memory, Code::unsupported,
          Hint{"use to_memory_config"}, "{}: the residual must lie in the shards of the input", op);
  }
  if (!options.blocks) return;
  const NormBlocks& blocks = *options.blocks;
  const auto& shards = memory.shard_spec();
  check(memory.is_sharded() && shards, Code::invalid_argument, Hint{"leave the program config out"},
        "{}: a sharded program config needs an input in shards", op);
  check(blocks.subblock_w > 0 && blocks.block_w % blocks.subblock_w == 0, Code::invalid_argument,
        "{}: block_w ({}) must be divisible by subblock_w ({})", op, blocks.block_w, blocks.subblock_w);
  const Extent2d tiles{shards->shape.height / kTile, shards->shape.width / kTile};
  check(blocks.block_h == tiles.height && blocks.block_w == tiles.width, Code::invalid_argument,
        "{}: block_h ({}) and block_w ({}) must be the tiles of a shard, {} x {}", op, blocks.block_h, blocks.block_w,
        tiles.height, tiles.width);
  check(shards->grid.num_cores() <= blocks.grid.x * blocks.grid.y, Code::invalid_argument,
        "{}: the shards lie on {} cores, the program config has a grid of {} x {}", op, shards->grid.num_cores(),
        blocks.grid.x, blocks.grid.y);
}

}  // namespace

DeviceTensor layer_norm(RowNorm norm, const DeviceTensor& x, const LayerNormOptions& options) {
  const std::string_view op = op_of(norm);
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  check(from.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: the input must be in TILE layout, it is in {}", op, name(from.layout()));
  check(from.dtype() == DType::float32 || from.dtype() == DType::bfloat16 || from.dtype() == DType::bfloat8_b,
        Code::unsupported, Hint{"use typecast"}, "{}: the input must be FLOAT32, BFLOAT16 or BFLOAT8_B, it is {}", op,
        name(from.dtype()));
  check_row(op, "weight", options.weight, x);
  check_row(op, "bias", options.bias, x);
  check_operand(op, "residual", options.residual, x);
  check(!options.residual || options.residual->spec().logical_shape() == shape, Code::invalid_argument,
        "{}: the residual has shape {}, the input {}", op,
        options.residual ? options.residual->spec().logical_shape().to_string() : "", shape.to_string());

  check_blocks(op, from, options);
  DeviceTensor y =
      options.blocks && options.blocks->in_place
          ? x
          : DeviceTensor::allocate(
                x.device(), from.with_memory_config(placement_like(options.memory_config, from, x.device()->grid())));
  // A row of tiles in, its difference from the mean, and out; statistics and the operands of the last steps.
  const std::int64_t columns = from.padded_shape()[-1] / kTile, between = tile_bytes(DType::bfloat16);
  const CoreRangeSet cores = all_cores(*x.device());
  std::vector<CircularBuffer> buffers;
  if (!from.memory_config().is_sharded())
    buffers.push_back({"in", cores, std::min<std::int64_t>(columns, 8) * tile_bytes(from.dtype())});
  buffers.push_back({"centered", cores, columns * between});
  buffers.push_back({"statistics", cores, 4 * between});
  if (!y.spec().memory_config().is_sharded()) buffers.push_back({"out", cores, 2 * tile_bytes(from.dtype())});
  check_program_fits(*x.device(), buffers);

  write_values(y, [&] {
    std::vector<float> values = read_pages(x).to_float32();
    const std::vector<float> weight = values_of(options.weight), bias = values_of(options.bias),
                             residual = values_of(options.residual);
    for (std::size_t i = 0; i < residual.size(); ++i) values[i] = into_dst(values[i] + residual[i], true);
    const std::int64_t width = shape[-1];
    parallel_for(
        width == 0 ? 0 : shape.volume() / width, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(width, 1)),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r)
            normalize(norm,
                      std::span(values).subspan(static_cast<std::size_t>(r * width), static_cast<std::size_t>(width)),
                      weight, bias, options.epsilon);
        });
    return Tensor::from_float32(values, shape, from.dtype(), Layout::tile, from.tile(), Rounding::packer);
  });
  TraceRecord record{ProgramKind::layer_norm, shape.to_string(), stream_transfers(x, y), nullptr, std::string(op)};
  std::vector<const DeviceTensor*> inputs{&x};
  for (const auto* operand : {&options.weight, &options.bias, &options.residual})
    if (*operand) inputs.push_back(&**operand);
  finish_program(std::move(record), inputs, y);
  return y;
}

}  // namespace tessera::tensix
