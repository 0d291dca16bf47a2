#pragma once

// What the files of the family "unified" hold beyond the machine itself: the rest of the hardware guide for liquid
// networks, and two constants of the model that times are estimated with. Fields are keys of the file, like those of
// machine.h.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tessera {

struct UnifiedGuide {
  double special_flop = 0;  // [chip] what an exponential, tanh or sigmoid costs, in multiplications
  // [memory] the bandwidth that the guide writes, rounded from the vendor's; none of a chip that it is not about
  std::optional<double> guide_bytes_per_s{};

  // [profile]
  int hidden_limit = 0;           // model complexity: "up to"
  double target_utilization = 0;  // of the Neural Engine, 0 to 1
  double learning_rate = 0;
  double backbone_dropout = 0;
  std::string advice{};  // sentences with ';' between them

  // [tiers] Other numbers of the guide's own repository, which differ from the guide. Nothing is checked against them.
  // Chips that the guide is not about have none.
  bool has_tiers = false;
  double class_target_bytes_per_s = 0;  // the minimum in its code
  double high_target_flop_per_s = 0;    // what it calls the target, above the minimum
  double high_target_bytes_per_s = 0;
  std::int64_t high_memory_bytes = 0;  // that goes with it
  int small_batch = 0;                 // of its guide for smaller models
  std::string small_backbone_units{};  // as text
};

// Of a machine of that family, from its figures; an Error for any other.
TSR_API UnifiedGuide unified_guide_of(const Machine& machine);

}  // namespace tessera
