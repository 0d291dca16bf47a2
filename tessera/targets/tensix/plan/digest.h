#pragma once

// What a plan was made for, in a few digits.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/network/lower.h"

#include <string>

namespace tessera::tensix {

// Operators, their parameters and shapes, and how they hang together; no weights.
TSR_API std::string network_digest(const tensix::LoweredGraph& network);

// All that the time and memory of an operator follow from, besides where its operands are.
std::string layer_text(const tensix::LoweredGraph& network, const tensix::LoweredNode& node);

}  // namespace tessera::tensix
