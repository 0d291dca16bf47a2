#include "tessera/targets/tensix/ops/group_norm/group_norm.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <cmath>
#include <string_view>
#include <vector>

namespace tessera::tensix {
namespace {

// Channels that each core's part of a weight holds, of `channels` in all; none: it is no such weight.
std::optional<std::int64_t> channels_per_core(std::int64_t elements, std::int64_t channels) {
  for (std::int64_t cores = 1; cores <= channels; ++cores)
    if (channels % cores == 0 && cores * round_up(channels / cores, kTile) == elements) return channels / cores;
  return std::nullopt;
}

void check_weight(std::string_view what, const std::optional<DeviceTensor>& t, const DeviceTensor& x) {
  if (!t) return;
  check_together("group_norm", {&x, &*t});
  const TensorSpec& spec = t->spec();
  check(is_floating(spec.dtype()), Code::unsupported, Hint{"use typecast"},
        "group_norm: the {} is {}, it must be floating", what, name(spec.dtype()));
  check(spec.layout() == Layout::row_major, Code::unsupported, Hint{"use create_group_norm_weight_bias_rm"},
        "group_norm: the {} must be in ROW_MAJOR layout, it is in {}", what, name(spec.layout()));
  check(spec.logical_shape()[-1] == kTile, Code::invalid_argument, Hint{"use create_group_norm_weight_bias_rm"},
        "group_norm: the {} must have rows of {}, it is {}", what, kTile, spec.logical_shape().to_string());
  const std::int64_t channels = x.spec().logical_shape()[-1];
  check(channels_per_core(spec.logical_shape().volume(), channels).has_value(), Code::invalid_argument,
        "group_norm: the {} {} does not hold {} channels, padded to whole tiles for each core", what,
        spec.logical_shape().to_string(), channels);
}

std::vector<float> weights_of(const std::optional<DeviceTensor>& t, std::int64_t channels, float otherwise) {
  if (!t) return std::vector<float>(static_cast<std::size_t>(channels), otherwise);
  const std::vector<float> padded = read_pages(*t).to_float32();
  const std::int64_t each = *channels_per_core(static_cast<std::int64_t>(padded.size()), channels);
  std::vector<float> out;
  for (std::int64_t c = 0; c < channels; ++c)
    out.push_back(padded[static_cast<std::size_t>(c / each * round_up(each, kTile) + c % each)]);
  return out;
}

void check_mask(const std::optional<DeviceTensor>& mask, const GroupNormOptions& options, const DeviceTensor& x) {
  if (!mask) return;
  check_together("group_norm", {&x, &*mask});
  const Shape& shape = mask->spec().padded_shape();
  check(mask->spec().layout() == Layout::tile && shape.rank() == 4 && shape[1] == options.groups && shape[2] == kTile &&
            shape[3] % kTile == 0,
        Code::invalid_argument, Hint{"use create_group_norm_input_mask"},
        "group_norm: the input mask must be [1, {}, {}, whole tiles] in TILE layout, it is {} in {}", options.groups,
        kTile, shape.to_string(), name(mask->spec().layout()));
}

std::vector<float> normalized(const std::vector<float>& x, const Shape& shape, const GroupNormOptions& options,
                              bool wide) {
  const std::int64_t images = shape[0], pixels = shape[1] * shape[2], channels = shape[3];
  const std::int64_t each = channels / options.groups;
  const std::vector<float> weight = weights_of(options.weight, channels, 1),
                           bias = weights_of(options.bias, channels, 0);
  std::vector<float> y(x.size());
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t g = 0; g < options.groups; ++g) {
      const auto for_each = [&](auto&& visit) {
        for (std::int64_t p = 0; p < pixels; ++p)
          for (std::int64_t c = g * each; c < (g + 1) * each; ++c)
            visit(static_cast<std::size_t>((n * pixels + p) * channels + c), static_cast<std::size_t>(c));
      };
      const double count = static_cast<double>(pixels * each);
      double mean = 0, square = 0;
      for_each([&](std::size_t i, std::size_t) { mean += static_cast<double>(x[i]); });
      mean /= count;
      for_each([&](std::size_t i, std::size_t) {
        square += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
      });
      const double inverse = 1 / std::sqrt(square / count + static_cast<double>(options.epsilon));
      for_each([&](std::size_t i, std::size_t c) {
        const double v = (static_cast<double>(x[i]) - mean) * inverse;
        y[i] = from_vector_unit(static_cast<float>(v * static_cast<double>(weight[c]) + static_cast<double>(bias[c])),
                                wide);
      });
    }
  return y;
}

}  // namespace

DeviceTensor group_norm(const DeviceTensor& x, const GroupNormOptions& options) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  check(from.dtype() == DType::bfloat16 || from.dtype() == DType::float32, Code::unsupported, Hint{"use typecast"},
        "group_norm: the input must be BFLOAT16 or FLOAT32, it is {}", name(from.dtype()));
  const Layout layout = options.layout.value_or(from.layout());
  check(from.layout() == Layout::row_major || !options.in_place, Code::unsupported, Hint{"give inplace=False"},
        "group_norm: an input in TILE layout cannot be written in place");
  check(layout == from.layout() || !options.in_place, Code::unsupported, Hint{"give inplace=False"},
        "group_norm: a result in {} cannot be written over an input in {}", name(layout), name(from.layout()));
  check(from.memory_config().layout() != TensorMemoryLayout::width_sharded, Code::unsupported,
        Hint{"use to_memory_config"}, "group_norm: a width-sharded input is not supported");
  check(shape.rank() == 4, Code::invalid_argument, "group_norm: the input must have rank 4, it has {}", shape.rank());
  check(options.groups > 0 && shape[3] % options.groups == 0, Code::invalid_argument,
        "group_norm: {} channels must be divisible by {} groups", shape[3], options.groups);
  const Shape& padded = from.padded_shape();
  const std::int64_t pixels = padded[0] * padded[1] * padded[2];
  check(pixels % kTile == 0, Code::invalid_argument, "group_norm: {} pixels must be divisible by the tile size ({})",
        pixels, kTile);
  check(!options.dtype || *options.dtype == from.dtype(), Code::unsupported, Hint{"use typecast"},
        "group_norm: the result has the dtype of the input, {}, not {}", name(from.dtype()),
        name(options.dtype.value_or(from.dtype())));
  check(options.out_blocks > 0, Code::invalid_argument, "group_norm: {} blocks are not possible", options.out_blocks);
  check_weight("weight", options.weight, x);
  check_weight("bias", options.bias, x);
  check_mask(options.mask, options, x);

  const MemoryConfig place = placement_like(options.memory_config, from, x.device()->grid());
  DeviceTensor y = options.in_place ? x
                                    : DeviceTensor::allocate(
                                          x.device(), TensorSpec(shape, from.dtype(), layout, place, from.tile()));
  // A group's columns of a block of rows, its statistics, and the tensors that lie in L1 already.
  const CoreRangeSet cores = from.memory_config().shard_spec() ? from.memory_config().shard_spec()->grid
                             : options.grid
                                 ? CoreRangeSet(CoreRange({0, 0}, {options.grid->x - 1, options.grid->y - 1}))
                                 : all_cores(*x.device());
  const std::int64_t tile = tile_bytes(from.dtype()), columns = ceil_div(shape[3] / options.groups, kTile) + 1;
  check_program_fits(*x.device(), {{"in", cores, columns * tile},
                                   {"centered", cores, columns * tile},
                                   {"statistics", cores, 4 * tile_bytes(DType::bfloat16)},
                                   {"out", cores, columns * tile}});
  DeviceTensors inputs{&x};
  for (const auto* t : {&options.weight, &options.bias, &options.mask})
    if (*t) inputs.push_back(&**t);
  const bool wide = options.compute ? options.compute->fp32_dest_acc_en : from.dtype() == DType::float32;
  std::vector<Transfer> moved = stream_transfers(x, y);
  write_values(y, [&] {
    return Tensor::from_float32(normalized(read_pages(x).to_float32(), shape, options, wide), shape, from.dtype(),
                                layout, from.tile(), Rounding::packer);
  });
  finish_program({ProgramKind::group_norm, shape.to_string(), std::move(moved)}, inputs, y);
  return y;
}

const CardOp card_op_group_norm = {.kind = ProgramKind::group_norm, .count = count_normalized_rows};

}  // namespace tessera::tensix
