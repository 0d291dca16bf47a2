#pragma once

// How exactly the matrix engine of a tile machine is asked to compute.

#include "tessera/core/export.h"

#include <cstdint>
#include <string_view>

namespace tessera::tensix {

// How many slices of the operands' mantissas are multiplied with each other: 1 to 4 phases.
enum class MathFidelity : std::uint8_t { lofi, hifi2, hifi3, hifi4 };

constexpr int phases(MathFidelity fidelity) { return static_cast<int>(fidelity) + 1; }
TSR_API std::string_view name(MathFidelity fidelity);  // "LoFi"

struct ComputeConfig {
  MathFidelity fidelity = MathFidelity::hifi4;
  bool approximate = true;        // functions of the vector unit by shorter series
  bool fp32_dest_acc_en = false;  // Dst holds float32: half as many tiles, no rounding between additions
  bool packer_l1_acc = false;     // partial results are added up in L1 instead of being loaded into Dst again
  bool dst_full_sync_en = false;

  bool operator==(const ComputeConfig&) const = default;
};

}  // namespace tessera::tensix
