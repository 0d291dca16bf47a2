#pragma once

#include "tessera/ncp/wiring.h"

namespace tessera::ncp {

// Matrices are dense: this many neurons are a gigabyte.
constexpr int kMaxNeurons = 32768;

// Letters, digits and _: names of layers go into pictures as they are.
bool is_layer_name(std::string_view name);

// No synapses and no layers yet. Refuses sizes that make no sense.
Wiring blank_wiring(int units, int outputs, int inputs);
void connect(Wiring& wiring, int source, int destination, int polarity);
void connect_sensory(Wiring& wiring, int input, int destination, int polarity);

// One per recipe; `spec` of the result is left for the caller.
Wiring build(const NcpSpec& spec, int inputs);
Wiring build(const AutoNcpSpec& spec, int inputs);
Wiring build(const FullyConnectedSpec& spec, int inputs);
Wiring build(const RandomSpec& spec, int inputs);
Wiring build(const LayeredSpec& spec, int inputs);
Wiring build(const ExplicitSpec& spec, int inputs);

NcpSpec expand(const AutoNcpSpec& spec);

}  // namespace tessera::ncp
