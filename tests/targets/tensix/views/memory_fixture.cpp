#include "memory_fixture.h"

#include "tessera/machine/machine_file.h"

namespace tessera::tensix {
namespace {

TensorSpec in_l1(Shape shape, DType dtype) { return {std::move(shape), dtype, Layout::tile, kL1MemoryConfig}; }

}  // namespace

UsedDevice::UsedDevice(const std::string& machine)
    : device(Device::open(load_machine_file(std::string(TESSERA_MACHINES_DIR) + "/" + machine + ".toml"),
                          {.l1_small_bytes = 8192, .trace_region_bytes = 1 << 20})) {
  const CoreRangeSet all = device->grid().to_core_range_set();
  const auto add = [&](const TensorSpec& spec) { tensors.push_back(DeviceTensor::allocate(device, spec)); };
  add({Shape{1, 1, 2048, 256}, DType::bfloat16, Layout::tile, kDramMemoryConfig});
  add(in_l1(Shape{1, 1, 2048, 64}, DType::bfloat16).height_sharded(all));
  add(in_l1(Shape{1, 1, 1056, 96}, DType::bfloat8_b).block_sharded(CoreRange({0, 0}, {3, 3})));
  add(in_l1(Shape{1, 1, 32, 512}, DType::bfloat16)
          .width_sharded(CoreRange({0, 0}, {0, 7}), ShardOrientation::col_major));
  add({Shape{64, 100}, DType::uint16, Layout::row_major,
       MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1_small,
                    ShardSpec{CoreRange({0, 0}, {7, 3}), {2, 100}})});
  labelled = device->allocate(BufferType::l1, {4000, 4000, 1}, {kHostileLabel, {}});
  tensors[2].deallocate();
  const CoreRangeSet few = CoreRange({2, 1}, {4, 2});
  circular_buffers = place_circular_buffers(*device, {{"a<b", all, 4096}, {"few", few, 10000}}, 0);
}

}  // namespace tessera::tensix
