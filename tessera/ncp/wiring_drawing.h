#pragma once

// Pictures of wirings: Graphviz text for any layout, and SVG without another program. Nodes are called neuron_i and
// sensory_i, as in ncps.

#include "tessera/core/export.h"
#include "tessera/ncp/wiring.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ncp {

enum class WiringLayout {
  layers,    // a column for the sensory neurons and for each layer, motor neurons to the right
  shell,     // rings, motor neurons innermost
  circular,  // all on one ring
};
TSR_API std::optional<WiringLayout> parse_wiring_layout(std::string_view text);

struct WiringPoint {
  double x = 0;
  double y = 0;
};

struct WiringStyle {
  WiringLayout layout = WiringLayout::layers;
  bool sensory_neurons = true;
  bool labels = true;
  // By type of neuron, and "excitatory" and "inhibitory": #rrggbb. What is missing has ncps' colour: inter and any
  // other type blue, motor orange, sensory olive; excitatory green, inhibitory red.
  std::map<std::string, std::string> colors{};
  // Of each neuron, then of each input, about one apart; none: as the layout says. For SVG.
  std::vector<WiringPoint> positions{};
};

TSR_API std::string wiring_to_dot(const Wiring& wiring, const WiringStyle& style = {});
TSR_API std::string wiring_to_svg(const Wiring& wiring, const WiringStyle& style = {});

}  // namespace tessera::ncp
