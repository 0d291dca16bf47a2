#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/movement_buffers.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"

namespace tessera::tensix {
namespace {

// The tensor as it would be in `config`; refuses what cannot exist there.
TensorSpec target_spec(const DeviceTensor& x, const MemoryConfig& config, std::optional<DType> dtype) {
  const TensorSpec& s = x.spec();
  return {s.logical_shape(), dtype.value_or(s.dtype()), s.layout(), config, s.tile()};
}

DeviceTensor carry_out(ProgramKind kind, const DeviceTensor& x, const TensorSpec& target,
                       const std::optional<DeviceTensor>& output = std::nullopt) {
  DeviceTensor y = output ? *output : DeviceTensor::allocate(x.device(), target);
  if (target.dtype() == x.spec().dtype())
    place_program(*x.device(), move_buffers(x.spec(), target, x.device()->card()));
  TraceRecord record{kind, target.memory_config().to_string(), {}};
  if (target.dtype() == x.spec().dtype()) {
    record.transfers = {copy_pages(x, y)};
  } else {
    write_values(y, [&] { return typecast(read_pages(x), target.dtype(), Rounding::packer); });
    record.transfers = stream_transfers(x, y);
  }
  finish_program(std::move(record), {&x}, y);
  return y;
}

void check_dtype_can_change(std::string_view op, const DeviceTensor& x, const TensorSpec& target) {
  check(target.dtype() == x.spec().dtype() || x.spec().layout() == Layout::tile, Code::invalid_argument,
        Hint{"use typecast, or convert to TILE layout first"},
        "{}: only TILE layout supports dtype conversion, this tensor is ROW_MAJOR {} and {} was asked for", op,
        name(x.spec().dtype()), name(target.dtype()));
}

bool is_sharded_in(const MemoryConfig& config, bool dram) { return config.is_sharded() && config.is_dram() == dram; }

}  // namespace

DeviceTensor to_memory_config(const DeviceTensor& x, const MemoryConfig& config, std::optional<DType> dtype) {
  x.check_allocated();
  const MemoryConfig& from = x.spec().memory_config();
  if (from == config) return x;
  const TensorSpec target = target_spec(x, config, dtype);
  check_dtype_can_change("to_memory_config", x, target);
  // Sticks of another width cannot be written to DRAM shards directly.
  if (x.spec().layout() == Layout::row_major && is_sharded_in(from, false) && is_sharded_in(config, true) &&
      target.num_pages() != x.spec().num_pages()) {
    const DeviceTensor between =
        carry_out(ProgramKind::sharded_to_interleaved, x, target_spec(x, kDramMemoryConfig, std::nullopt));
    return carry_out(ProgramKind::interleaved_to_sharded, between, target);
  }
  const ProgramKind kind = from.is_sharded()
                               ? (config.is_sharded() ? ProgramKind::reshard : ProgramKind::sharded_to_interleaved)
                               : (config.is_sharded() ? ProgramKind::interleaved_to_sharded : ProgramKind::copy);
  return carry_out(kind, x, target);
}

DeviceTensor interleaved_to_sharded(const DeviceTensor& x, const MemoryConfig& config, std::optional<DType> dtype) {
  x.check_allocated();
  const TensorSpec target = target_spec(x, config, dtype);
  check(!x.spec().memory_config().is_sharded(), Code::invalid_argument, Hint{"use reshard or to_memory_config"},
        "interleaved_to_sharded: the input must be INTERLEAVED, but it is {}", name(x.spec().memory_config().layout()));
  check(config.is_sharded(), Code::invalid_argument, Hint{"use to_memory_config"},
        "interleaved_to_sharded: the output memory config must be sharded");
  check_dtype_can_change("interleaved_to_sharded", x, target);
  return carry_out(ProgramKind::interleaved_to_sharded, x, target);
}

DeviceTensor sharded_to_interleaved(const DeviceTensor& x, const MemoryConfig& config, std::optional<DType> dtype) {
  x.check_allocated();
  const MemoryConfig& from = x.spec().memory_config();
  if (!from.is_sharded()) return x;
  const TensorSpec target = target_spec(x, config, dtype);
  check(from.is_l1(), Code::invalid_argument, Hint{"use to_memory_config"},
        "sharded_to_interleaved: the input must be in L1, it is in {}", name(from.buffer_type()));
  check(!config.is_sharded(), Code::invalid_argument, Hint{"use reshard"},
        "sharded_to_interleaved: the output memory config must be INTERLEAVED, it is {}", name(config.layout()));
  check_dtype_can_change("sharded_to_interleaved", x, target);
  return carry_out(ProgramKind::sharded_to_interleaved, x, target);
}

DeviceTensor reshard(const DeviceTensor& x, const MemoryConfig& config, const std::optional<DeviceTensor>& output) {
  x.check_allocated();
  const TensorSpec target = target_spec(x, config, std::nullopt);
  const MemoryConfig& from = x.spec().memory_config();
  check(from.is_sharded(), Code::invalid_argument, Hint{"use interleaved_to_sharded or to_memory_config"},
        "reshard: input must be sharded, it is INTERLEAVED");
  check(config.is_sharded(), Code::invalid_argument, Hint{"use sharded_to_interleaved or to_memory_config"},
        "reshard: output must be sharded, the memory config is INTERLEAVED");
  check(x.spec().layout() == Layout::tile || !config.is_dram() || from.layout() == target.memory_config().layout() ||
            target.num_pages() == x.spec().num_pages(),
        Code::invalid_argument, Hint{"use to_memory_config, which goes through an interleaved copy"},
        "reshard: ROW_MAJOR into DRAM shards moves whole sticks, so the number of input ({}) and output ({}) pages "
        "must match",
        x.spec().num_pages(), target.num_pages());
  if (output) {
    output->check_allocated();
    check(output->device() == x.device() && output->spec() == target, Code::invalid_argument,
          Hint{"allocate the output with the input's shape, dtype and layout and the same memory config"},
          "reshard: the output tensor is {} in {}, the result would be {} in {}",
          output->spec().logical_shape().to_string(), output->spec().memory_config().to_string(),
          target.logical_shape().to_string(), target.memory_config().to_string());
  }
  return carry_out(ProgramKind::reshard, x, target, output);
}

DeviceTensor clone(const DeviceTensor& x, const std::optional<MemoryConfig>& config, std::optional<DType> dtype) {
  x.check_allocated();
  const MemoryConfig& from = x.spec().memory_config();
  const TensorSpec target = target_spec(x, config.value_or(from), dtype);
  const MemoryConfig& to = target.memory_config();
  check(from.is_sharded() == to.is_sharded(), Code::invalid_argument, Hint{"use to_memory_config"},
        "clone: the input is {} and the output {}; both must be sharded or both interleaved", name(from.layout()),
        name(to.layout()));
  check(!from.is_sharded() || from.layout() == to.layout(), Code::invalid_argument, Hint{"use reshard"},
        "clone: the input is {}, the output {}", name(from.layout()), name(to.layout()));
  check(!from.is_sharded() || from.shard_spec() == to.shard_spec(), Code::invalid_argument, Hint{"use reshard"},
        "clone: input and output must have the same grid, shard shape and orientation");
  return carry_out(ProgramKind::clone, x, target);
}

}  // namespace tessera::tensix
