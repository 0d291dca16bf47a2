#pragma once

// A network as an MLX script: images lie N H W C inside, inputs and outputs are as the network has them.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"
#include "tessera/io/emit/script.h"
#include "tessera/ncp/layer.h"

#include <string>

namespace tessera::apple {

// Shapes must be known. Operators that there is no code for are one Error that lists them all.
TSR_API emit::Script mlx_script(Graph graph, const std::string& model, const std::string& weights_file);

// A liquid layer over sequences, with parameters under their own names.
TSR_API emit::Script mlx_script(const ncp::Layer& layer, const ncp::ParameterSet<float>& parameters,
                                const std::string& model, const std::string& weights_file);

}  // namespace tessera::apple
