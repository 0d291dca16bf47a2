#pragma once

// A card to run operators on, tensors to run them with, and the check that a refused operator changes nothing.

#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tessera::tensix {

inline std::shared_ptr<Device> open_card(const std::string& machine = "wormhole_n150") {
  return Device::open(load_machine(machine), DeviceOptions{.l1_small_bytes = 16384});
}

// Of the dtype: what is written is what is read.
inline std::vector<float> random_values(const Shape& shape, DType dtype, std::mt19937& rng, float scale = 1) {
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> out(static_cast<std::size_t>(shape.volume()));
  for (float& v : out) v = is_integer(dtype) ? std::round(std::abs(normal(rng)) * 8) : normal(rng);
  if (is_block_float(dtype)) return Tensor::from_float32(out, shape, dtype, Layout::tile).to_float32();
  return Tensor::from_float32(out, shape, dtype, Layout::row_major).to_float32();
}

inline DeviceTensor on_card(const std::shared_ptr<Device>& device, const std::vector<float>& values, const Shape& shape,
                            DType dtype = DType::bfloat16, Layout layout = Layout::tile,
                            const MemoryConfig& config = {}) {
  return to_device(Tensor::from_float32(values, shape, dtype, layout), device, config);
}

inline std::vector<float> values_of(const DeviceTensor& x) { return from_device(x).to_float32(); }

inline MemoryConfig height_shards(std::int64_t cores, std::int64_t rows, std::int64_t columns) {
  return MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1,
                      ShardSpec{CoreRange({0, 0}, {static_cast<int>(cores) - 1, 0}), {rows, columns}});
}

// What a failed operator must leave as it was.
struct CardState {
  std::int64_t l1, dram;
  std::size_t buffers, records;
  explicit CardState(const Device& device)
      : l1(device.memory_view(BufferType::l1).allocated_bytes_per_bank),
        dram(device.memory_view(BufferType::dram).allocated_bytes_per_bank),
        buffers(device.live_buffers().size()),
        records(device.trace().size()) {}
  bool operator==(const CardState&) const = default;
};

// Relative to the largest value around: what `bits` of mantissa and `roundings` of them leave.
inline double tolerance(int bits, double roundings, double magnitude) {
  return roundings * std::ldexp(magnitude, -bits);
}

}  // namespace tessera::tensix
