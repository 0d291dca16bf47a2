#pragma once

// What would make a kernel faster, from what it did.

#include "tessera/core/export.h"
#include "tessera/targets/neuron/views/longest_chain.h"

#include <span>
#include <string>
#include <vector>

namespace tessera::neuron {

struct KernelAdvice {
  std::string what;  // "load w once"
  std::string why;   // with the numbers
};

// What concerns the resource that bounds the kernel comes first. Empty where nothing that is looked for was found.
TSR_API std::vector<KernelAdvice> kernel_advice(const Profile& profile, const LongestChain& chain,
                                                std::span<const TensorTraffic> tensors);

}  // namespace tessera::neuron
