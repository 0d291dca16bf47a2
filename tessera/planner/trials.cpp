#include "tessera/planner/internal/trials.h"
#include "tessera/planner/digest.h"

#include <fmt/format.h>

namespace tessera::planner {
namespace {

template <class T, class Text>
std::string key_of(const std::optional<T>& value, Text&& text) {
  return value ? std::string(text(*value)) : "-";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string config_key(const tensix::LayerConfig& c) {
  const auto named = [](auto value) { return name(value); };
  const auto flag = [](bool value) { return value ? "1" : "0"; };
  const Conv2dConfig& v = c.conv;
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {}", key_of(c.dtype, named), key_of(c.weights_dtype, named),
                  key_of(c.fidelity, named), key_of(c.fp32_dest_acc_en, flag), key_of(c.packer_l1_acc, flag),
                  key_of(c.memory, named), key_of(c.height_slices, flag), c.slices);
  if (c.conv_fields.empty()) return text;
  text += fmt::format(" {} {} {} {} {} {} {} {} {} {}", key_of(v.shard_layout, named),
                      v.core_grid ? v.core_grid->to_string() : "-", v.act_block_h_override, v.act_block_w_div,
                      flag(v.deallocate_activation), flag(v.reallocate_halo_output), flag(v.config_tensors_in_dram),
                      flag(v.enable_act_double_buffer), flag(v.enable_weights_double_buffer), flag(v.full_inner_dim));
  text += fmt::format(" {} {} {} {} {} {} {} {}", flag(v.enable_activation_reuse), key_of(v.force_split_reader, flag),
                      key_of(v.enable_kernel_stride_folding, flag), flag(v.override_sharding_config),
                      flag(v.reshard_if_not_optimal), flag(v.transpose_shards), name(v.output_layout),
                      flag(v.override_output_sharding_config));
  for (const std::string& field : c.conv_fields) text += " " + field;
  return text;
}

std::vector<std::int64_t> last_uses(const tensix::LoweredGraph& network) {
  std::vector<std::int64_t> last(network.graph.values.size(), -1);
  for (std::size_t i = 0; i < network.nodes.size(); ++i)
    for (const ValueId id : network.nodes[i].inputs) last[static_cast<std::size_t>(id)] = static_cast<std::int64_t>(i);
  for (const ValueId id : network.graph.outputs)
    last[static_cast<std::size_t>(id)] = static_cast<std::int64_t>(network.nodes.size());
  return last;
}

Trials::Trials(const tensix::LoweredGraph& network, const Machine& machine, std::int64_t l1_small_bytes)
    : network_(network),
      card_(tensix_of(machine)),
      trial_card_(network, machine, l1_small_bytes),
      limit_bytes_(trial_card_.limit_bytes()) {
  std::map<std::string, int> seen;
  const std::vector<std::int64_t> last = last_uses(network);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const tensix::LoweredNode& node = network.nodes[i];
    std::string text = layer_text(network, node);
    for (std::size_t j = 0; j < node.inputs.size(); ++j) {
      const ValueId id = node.inputs[j];
      text += last[static_cast<std::size_t>(id)] == static_cast<std::int64_t>(i) ? " goes" : " stays";
      for (std::size_t k = 0; k < j; ++k)
        if (node.inputs[k] == id) text += fmt::format(" as {}", k);
    }
    kinds_.push_back(seen.emplace(text, static_cast<int>(seen.size())).first->second);
  }
}

SpecId Trials::id_of(const TensorSpec& spec) {
  const MemoryConfig& memory = spec.memory_config();
  std::string key = fmt::format("{} {} {} {}", spec.logical_shape().to_string(), static_cast<int>(spec.dtype()),
                                static_cast<int>(spec.layout()),
                                static_cast<int>(memory.buffer_type()) * 8 + static_cast<int>(memory.layout()));
  if (memory.is_sharded()) key += memory.shard_spec() ? memory.shard_spec()->to_string() : memory.to_string();
  const auto [found, added] = spec_ids_.emplace(std::move(key), static_cast<SpecId>(specs_.size()));
  if (added) {
    specs_.push_back(spec);
    bytes_.push_back(trial_card_.bytes_of(spec));
  }
  return found->second;
}

ConfigId Trials::id_of(const tensix::LayerConfig& config) {
  const auto [found, added] = config_ids_.emplace(config_key(config), static_cast<ConfigId>(configs_.size()));
  if (added) configs_.push_back(config);
  return found->second;
}

Trial Trials::taken(const tensix::NodeTrial& trial) {
  Trial out;
  out.peak_bytes = trial.step.l1_peak_bytes;
  out.operand_bytes = trial.operand_bytes;
  out.list_bytes = trial.step.l1_small_bytes;
  out.config = trial.step.config;
  if (trial.plan && trial.plan->moves_input && !trial.plan->interleaved && !trial.plan->folded)
    out.input_shards = trial.plan->input_memory();
  if (trial.refusal) {
    out.refusal = first_line(trial.refusal->message());
    return out;
  }
  out.kernel_ns = trial.step.time.ns;
  out.programs = trial.step.programs;
  out.ns = out.kernel_ns + card_.op_gap_ns * static_cast<double>(out.programs);
  out.result = id_of(*trial.result);
  return out;
}

const Trial& Trials::node(std::size_t node, std::span<const SpecId> inputs, ConfigId config) {
  std::tuple key{kinds_[node], config, std::vector<SpecId>(inputs.begin(), inputs.end())};
  const auto found = nodes_.find(key);
  if (found != nodes_.end()) return found->second;
  std::vector<TensorSpec> specs;
  for (const SpecId id : inputs) specs.push_back(spec(id));
  Trial trial = taken(trial_card_.try_node(node, specs, configs_[static_cast<std::size_t>(config)]));
  return nodes_.emplace(std::move(key), std::move(trial)).first->second;
}

const Trial& Trials::move(SpecId from, SpecId to) {
  const auto found = moves_.find({from, to});
  if (found != moves_.end()) return found->second;
  Trial trial = taken(trial_card_.try_move(spec(from), spec(to).memory_config()));
  return moves_.emplace(std::pair{from, to}, std::move(trial)).first->second;
}

}  // namespace tessera::planner
