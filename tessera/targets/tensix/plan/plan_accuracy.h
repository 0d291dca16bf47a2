#pragma once

// What a plan's own calls give, against float32.
//
// Precisions alone do not tell: shards and blocks decide in which order a convolution's products are added up and how
// often a sum is rounded on the way, and images side by side in channels share exponents of block floats where a
// channel count is no multiple of 16. Both are the plan's, so a plan of one batch may be more or less exact than that
// of another. Images that do not meet do not change each other otherwise: rows of a convolution, and blocks of 16
// channels, are of one image or of one group. So the first group of a batch, computed by the calls of the whole batch,
// has the bits that it has in a run of everything.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/plan/accuracy.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <cstdint>
#include <functional>

namespace tessera::tensix {

TSR_API std::int64_t images_of(const tensix::LoweredGraph& network);  // its batch

// How many images the plan is measured with: those of one group, or the whole batch where some operator makes of it
// something that has another number of images.
TSR_API std::int64_t images_to_measure(const tensix::LoweredGraph& network, const CardPlan& plan);

// `calibration` has so many images at least; the first ones are taken. `pulse` as measure() has it.
TSR_API NodeAccuracy measure_plan(const Calibration& calibration, const Machine& machine,
                                  const tensix::LoweredGraph& network, const CardPlan& plan,
                                  const std::function<void()>& pulse = {});

}  // namespace tessera::tensix
