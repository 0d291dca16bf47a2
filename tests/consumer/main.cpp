#include <tessera/machine/machine_file.h>
#include <tessera/targets/tensix/card/device_tensor.h>

#include <cstdio>

int main() {
  const auto device = tessera::tensix::Device::open(tessera::load_machine("wormhole_n150"));
  const tessera::tensix::TensorSpec spec({1, 1, 2048, 64}, tessera::DType::bfloat8_b, tessera::Layout::tile,
                                         tessera::tensix::kL1MemoryConfig);
  const auto cores = tessera::tensix::CoreGrid{8, 8}.to_core_range_set();
  const auto tensor = tessera::tensix::DeviceTensor::allocate(device, spec.height_sharded(cores));
  std::printf("%s at %ld\n", tensor.spec().memory_config().shard_spec()->to_string().c_str(),
              static_cast<long>(tensor.address()));
  return tensor.address() == 1496960 ? 0 : 1;
}
