#include "tessera/targets/tensix/plan/digest.h"

#include "tessera/core/sha256.h"
#include "tessera/targets/tensix/ops/card_op.h"

#include <fmt/format.h>

#include <span>

namespace tessera::tensix {
namespace {

constexpr std::size_t kDigits = 16;

std::string layer_digest(const CardLayer& layer) {
  if (const auto* host = layer.as<HostLayer>()) return fmt::format("host {}", host->node);
  return layer.op()->digest != nullptr ? layer.op()->digest(layer) : "";
}

std::string digits_of(const std::string& text) { return sha256_hex(std::as_bytes(std::span(text)), kDigits); }

}  // namespace

std::string layer_text(const tensix::LoweredGraph& network, const tensix::LoweredNode& node) {
  std::string text = fmt::format("{} {}", node.op, layer_digest(node.layer));
  for (const std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
    text += ids == &node.inputs ? " of" : " to";
    for (const ValueId id : *ids) {
      text += " " + network.graph.value(id).type.to_string();
      if (const int columns = network.columns_of(id); columns != 1) text += fmt::format(" columns {}", columns);
    }
  }
  return text;
}

std::string network_digest(const tensix::LoweredGraph& network) {
  std::string text;
  for (const tensix::LoweredNode& node : network.nodes) {
    text += layer_text(network, node);
    for (const ValueId id : node.inputs) text += fmt::format(" <{}", id);
    for (const ValueId id : node.outputs) text += fmt::format(" >{}", id);
    text += "\n";
  }
  return digits_of(text);
}

}  // namespace tessera::tensix
