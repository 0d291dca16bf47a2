#pragma once

// What a call of TTNN does in a network, for whoever judges a plan without knowing its operators.

#include "tessera/core/export.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::tensix {

enum class CallRole : std::uint8_t {
  computes,     // none of the others
  convolution,  // with weights, over an image
  product,      // with weights, of rows
  scales,       // multiplies element by element
  converts,     // changes layout, order or type alone
  host,         // is no call: the host computes it
};

// By the name that a plan file has for a step: TTNN's, or what host_step_name() makes. None: no operator of the card is
// called so.
TSR_API std::optional<CallRole> call_role(std::string_view step_name);

// "Resize (host)": a step that the card has no operator for.
TSR_API std::string host_step_name(std::string_view graph_operator);

}  // namespace tessera::tensix
