#pragma once

// Average pools whose window is the whole image.

#include "tessera/targets/tensix/ops/pool/pool.h"

#include <functional>
#include <vector>

namespace tessera::tensix {

// A reduction, which leaves the tensor where it is (shards: in the same memory, but interleaved) and its type as it
// was. Other averages over whole images are pooled as any other.
bool is_global(PoolKind kind, const TensorSpec& x, const PoolOptions& options);

// `values` are those of the result, [1, 1, n, c]; asked for only if the card has values.
DeviceTensor global_average(const DeviceTensor& x, const PoolOptions& options,
                            const std::function<std::vector<float>()>& values);

}  // namespace tessera::tensix
