#pragma once

// e^x / sum(e^x), or its logarithm, along the middle of [outer][length][inner].

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

struct SoftmaxJob {
  bool log = false, bf16 = false;
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t blocks = 1;  // of kSoftmaxBlock columns, along inner
  const void* x = nullptr;
  void* y = nullptr;
};
constexpr std::int64_t kSoftmaxBlock = 64;

// Units of work: outer, times blocks.
using SoftmaxKernel = void (*)(const SoftmaxJob& job, std::int64_t begin, std::int64_t end);
TSR_EACH_ISA(void softmax(const SoftmaxJob& job, std::int64_t begin, std::int64_t end);)

}  // namespace tessera::cpu
