#pragma once

#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::tensix {

inline constexpr const char* kHostileLabel = "</script><b>&\"'\x01\xFF";

// A device with tensors in DRAM, L1 and L1_SMALL, a hole in L1, a buffer with a hostile label, and circular buffers.
struct UsedDevice {
  explicit UsedDevice(const std::string& machine);

  std::shared_ptr<Device> device;
  std::vector<DeviceTensor> tensors;
  std::shared_ptr<Buffer> labelled;
  CircularBufferPlacement circular_buffers;
};

}  // namespace tessera::tensix
