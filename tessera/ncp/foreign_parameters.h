#pragma once

// Parameters under the names and in the layouts of other frameworks. `torch` is what layers have themselves; Keras
// keeps kernels as [inputs, outputs] under names of its own, MLX counts what stands in a backbone in its own way, and
// neither keeps the masks of a wiring.

#include "tessera/core/export.h"
#include "tessera/ncp/layer.h"

namespace tessera::ncp {

// Named arrays of a framework as parameters of `layer`, in its dialect: time_a changes its sign where the two differ.
// Names may have something in front ("model/cfc/cf_c_cell/ff1_weight:0", "rnn.rnn_cell.ff1.weight"); several that end
// alike belong to the layers of a wiring in the order given. What is missing, left over or of another shape is one
// Error.
TSR_API ParameterSet<float> import_parameters(const Layer& layer, const ParameterSet<float>& given, Dialect from);

// The other way round.
TSR_API ParameterSet<float> export_parameters(const Layer& layer, const ParameterSet<float>& parameters, Dialect to);

}  // namespace tessera::ncp
