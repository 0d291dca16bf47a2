#pragma once

// How long a configuration of a convolution that was tried takes, and which of several is fastest.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_trial.h"
#include "tessera/targets/tensix/time/kernel_time.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::tensix {

// Of all programs of a trial: the input into shards, halo, convolution.
struct TrialTime {
  double ns = 0, conv_ns = 0, roof_ns = 0;  // the last two: of convolutions alone
  TimePart bound_by = TimePart::fixed;      // of the longest of them
  TimeBasis basis = TimeBasis::fitted;      // the weakest of its programs
  double roof_fraction() const { return conv_ns > 0 ? roof_ns / conv_ns : 0; }
};

// None where there is no plan. One that does not fit is timed as its plan would have run.
TSR_API std::optional<TrialTime> time_of_trial(const Conv2dTrial& trial, const TensixSpec& card,
                                               const TensixCosts& costs);

// The fastest that fits; of equals, the one that the rule without times prefers.
TSR_API std::optional<std::size_t> fastest_trial(const std::vector<Conv2dTrial>& trials,
                                                 const std::vector<std::optional<TrialTime>>& times);

}  // namespace tessera::tensix
