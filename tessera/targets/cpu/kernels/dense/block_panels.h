#pragma once

// Weights of the dense engine in fewer bits (dense_expand.h): how they are packed.

#include "tessera/targets/cpu/kernels/dense/dense.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::cpu {

// Why the kernel does not take the weights, which are input 1 of the node: it would keep them as something else than
// the plan says. `expandable`: there are kernels that would keep them so.
std::optional<std::string> refuse_weights(const DenseKernel& kernel, const Problem& problem, bool expandable);
// Bytes that need not be read because the weights are kept in fewer bits.
double saved_bytes(const DenseKernel& kernel, const Problem& problem);

// Bytes of the packed weights of `columns` columns, for a kernel that expands.
std::int64_t expanded_bytes(const DenseKernel& kernel, std::int64_t reduction, std::int64_t columns);

// Float32 panels as packed for the engine, in the kernel's storage. Values that its codes hold come back as they are;
// others are rounded as core/block_float.h says for the host.
void pack_expanded(const DenseKernel& kernel, std::int64_t reduction, std::int64_t columns, const float* panels,
                   std::byte* to);

}  // namespace tessera::cpu
