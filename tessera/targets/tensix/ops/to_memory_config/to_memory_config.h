#pragma once

// Moving a tensor to another place: between DRAM and L1, and between interleaved and sharded. Values stay what they
// are; a dtype other than the tensor's own converts on the way (TILE layout only, as the card's packer does it). Inputs
// stay allocated, and an output spec that cannot exist is reported before anything else.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// Whatever it takes to get from where x is to `config`. A tensor that is there already comes back as it is, whatever
// dtype was asked for: that is what TTNN does (use typecast).
TSR_API DeviceTensor to_memory_config(const DeviceTensor& x, const MemoryConfig& config,
                                      std::optional<DType> dtype = std::nullopt);

// The same moves by the names of the operations; each refuses inputs or configs that are not of its kind.
TSR_API DeviceTensor interleaved_to_sharded(const DeviceTensor& x, const MemoryConfig& config,
                                            std::optional<DType> dtype = std::nullopt);
// An interleaved tensor comes back as it is.
TSR_API DeviceTensor sharded_to_interleaved(const DeviceTensor& x, const MemoryConfig& config = kDramMemoryConfig,
                                            std::optional<DType> dtype = std::nullopt);
// Into `output` where one is given, which has to be as the result would be; otherwise into new memory.
TSR_API DeviceTensor reshard(const DeviceTensor& x, const MemoryConfig& config,
                             const std::optional<DeviceTensor>& output = std::nullopt);

// A second tensor with the same contents, in the same place unless told otherwise.
TSR_API DeviceTensor clone(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt,
                           std::optional<DType> dtype = std::nullopt);

}  // namespace tessera::tensix
