#include "tessera/targets/tensix/plan/pins.h"
#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace tessera::tensix {
namespace {

bool fits(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') return fits(pattern.substr(1), text) || (!text.empty() && fits(pattern, text.substr(1)));
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && fits(pattern.substr(1), text.substr(1));
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// One field as a config of layers has it.
tensix::LayerConfig parsed(const Pin& pin) {
  const std::string field = pin.field == "shard" ? "shard_layout" : pin.field;
  std::string value = pin.value;
  if (field == "shard_layout" && !value.ends_with("_SHARDED")) value += "_SHARDED";
  const bool number = !value.empty() && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  const bool plain = number || value == "true" || value == "false" || (!value.empty() && value[0] == '[');
  const std::string json = fmt::format("{{\"*\": {{{}: {}}}}}", json_string(field), plain ? value : json_string(value));
  return with_context(fmt::format("while reading the pin '{}:{}={}'", pin.nodes, pin.field, pin.value),
                      [&] { return tensix::parse_layer_configs(json).at("*"); });
}

}  // namespace

void apply_pins(const tensix::LayerConfig& pins, tensix::LayerConfig& config) {
  pins.apply_to(config.conv);
  if (!pins.conv_fields.empty() && !config.conv_fields.empty())
    for (const std::string& field : pins.conv_fields)
      if (!config.gives(field)) config.conv_fields.push_back(field);
  const auto set = [](auto& value, const auto& pin) {
    if (pin) value = pin;
  };
  set(config.dtype, pins.dtype);
  set(config.weights_dtype, pins.weights_dtype);
  set(config.fidelity, pins.fidelity);
  set(config.fp32_dest_acc_en, pins.fp32_dest_acc_en);
  set(config.packer_l1_acc, pins.packer_l1_acc);
  set(config.memory, pins.memory);
  if (pins.height_slices) {
    config.height_slices = pins.height_slices;
    config.slices = pins.slices;
  }
}

std::string pinned_fields(const tensix::LayerConfig& pins) {
  std::vector<std::string> names = pins.conv_fields;
  if (pins.dtype) names.emplace_back("dtype");
  if (pins.weights_dtype) names.emplace_back("weights_dtype");
  if (pins.fidelity) names.emplace_back("math_fidelity");
  if (pins.fp32_dest_acc_en) names.emplace_back("fp32_dest_acc_en");
  if (pins.packer_l1_acc) names.emplace_back("packer_l1_acc");
  if (pins.memory) names.emplace_back("memory");
  if (pins.height_slices) names.emplace_back("slice");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<tensix::LayerConfig> pinned(const std::vector<Pin>& pins, const tensix::LoweredGraph& network) {
  std::vector<tensix::LayerConfig> out(network.nodes.size());
  for (const Pin& pin : pins) {
    const tensix::LayerConfig one = parsed(pin);
    bool found = false;
    for (std::size_t i = 0; i < network.nodes.size(); ++i) {
      if (!fits(pin.nodes, network.nodes[i].name)) continue;
      const bool conv = network.nodes[i].layer.is<tensix::ConvLayer>();
      if (!one.conv_fields.empty() && !conv) continue;
      found = true;
      for (const std::string& field : one.conv_fields)
        if (!out[i].gives(field)) out[i].conv_fields.push_back(field);
      one.apply_to(out[i].conv);
      apply_pins(one, out[i]);
    }
    if (found) continue;
    std::vector<std::string> names;
    for (const tensix::LoweredNode& node : network.nodes) names.push_back(node.name);
    fail(Code::not_found, Hint{"patterns are those of file names: layer3.*, conv?"},
         "the pin '{}:{}={}' fits no {} of the network{}", pin.nodes, pin.field, pin.value,
         one.conv_fields.empty() ? "operator" : "convolution", did_you_mean(pin.nodes, names));
  }
  return out;
}

}  // namespace tessera::tensix
