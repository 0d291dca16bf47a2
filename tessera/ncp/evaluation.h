#pragma once

// Loss and accuracy of whatever runs a layer: trainer.h's evaluate() for those who are not this module's kernels.

#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/ncp/layer.h"
#include "tessera/ncp/loss.h"
#include "tessera/ncp/sequence.h"
#include "tessera/ncp/trainer.h"

#include <cstdint>

namespace tessera::ncp {

// The layer with outputs of every step, batch first: what a runner has to run here.
TSR_API Layer evaluated(Layer layer);

// `run` is given batches of sequences, zeros behind a sample's own last step, and makes outputs of evaluated(layer).
TSR_API LossSums evaluate(const Layer& layer, const Dataset& data, Loss loss, Readout readout, std::int64_t batch,
                          FunctionRef<void(const Sequence<float>&, SequenceResult<float>&)> run);

}  // namespace tessera::ncp
