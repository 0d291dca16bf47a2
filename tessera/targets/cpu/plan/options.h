#pragma once

#include "tessera/core/dtype.h"
#include "tessera/core/element_type.h"
#include "tessera/core/isa.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cpu {

struct Options {
  int threads = 0;                             // 0: as many as the process may use (parallel_for.h)
  std::optional<Isa> isa = {};                 // none: active_isa()
  ElementType storage = ElementType::float32;  // or bfloat16: values and weights are kept so, arithmetic is float32
  DType weights = DType::float32;              // or bfloat16, bfloat8_b, bfloat4_b: see round_weights()
  // No kernels that round more than the definition (KernelInfo::exact), and subnormal weights stay. Otherwise they
  // become 0 when they are packed: they change nothing that float32 sums of normal size could tell, and slow some
  // processors down.
  bool exact = false;
  std::vector<std::string> passes_off = {};         // names of graph passes to leave out; "order": no channels-last
  std::vector<std::string> kernels_off = {};        // names of kernels to leave out
  std::map<std::string, std::string> kernels = {};  // by node: the kernel it must take (from a plan file)
  std::string kernels_are_for = {};                 // network_digest() of that plan's network; empty: not known
  std::size_t max_plans = 8;                        // kept for this many different input shapes
  // For values of a run, wherever they are; weights are not counted. None: default_memory_limit_bytes().
  std::optional<std::int64_t> memory_limit_bytes = {};
  std::optional<std::int64_t> loop_limit = {};  // iterations of all loops of a run; none: as LoopLimits has it
};

}  // namespace tessera::cpu

namespace tessera {

using SessionOptions = cpu::Options;

}  // namespace tessera
