#pragma once

#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/trace.h"

#include <vector>

namespace tessera::tensix {

// Whether a program with these circular buffers fits beside the tensors that are on the device.
void place_program(const Device& device, const std::vector<CircularBuffer>& buffers);

// Ends an operation: hands its record to the device, under a key made of the operation and the specs it worked on. A
// record that does not say what it does is one whose work follows from the tensors.
void finish_program(TraceRecord record, const std::vector<const DeviceTensor*>& inputs, const DeviceTensor& output);

}  // namespace tessera::tensix
