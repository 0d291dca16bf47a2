#pragma once

// What a plan was made for, in a few digits.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/network/lower.h"

#include <string>

namespace tessera::tensix {

// Operators, their parameters and shapes, and how they hang together; no weights.
TSR_API std::string network_digest(const tensix::LoweredGraph& network);
// Every figure of the machine but those of [fleet].
TSR_API std::string machine_digest(const Machine& machine);

// All that the time and memory of an operator follow from, besides where its operands are.
std::string layer_text(const tensix::LoweredGraph& network, const tensix::LoweredNode& node);

}  // namespace tessera::tensix
