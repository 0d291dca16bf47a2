#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/neuron/plan/tune.h"

#include <cstdint>
#include <string>

namespace tessera::neuron {

// The language's two generations: neuronxcc.nki, whose instructions give results, and nki, whose results are put where
// dst says.
enum class NkiApi : std::uint8_t { nki2025, nki2026 };

// A schedule as an NKI script: fused_conv2d_maxpool(X, W, bias, pool_size), and a benchmark of it (2025) or a call
// (2026). It imports neuronxcc.nki or nki where that exists and tessera.nki otherwise.
TSR_API std::string nki_script(const ConvProblem& problem, const ConvSchedule& schedule, NkiApi api = NkiApi::nki2025);

}  // namespace tessera::neuron
