#include "tessera/targets/tensix/plan/trials.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/plan/digest.h"
#include "tessera/targets/tensix/plan/trial_bytes.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

template <class T, class Text>
std::string key_of(const std::optional<T>& value, Text&& text) {
  return value ? std::string(text(*value)) : "-";
}

// What a plan keeps of it. Programs are numbered by all that ran before, which says nothing of this one.
Refusal plain_refusal(const Refusal& refusal) {
  Refusal out = refusal;
  out.message = refusal.lasting_reason();
  out.lasting_message.clear();
  out.hint.clear();
  out.context.clear();
  return out;
}

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
  text += " " + v.activation.value_or("-");
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
    : card_(tensix_of(machine)),
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

UnnumberedTrial Trials::tried(const Wanted& wanted) {
  tensix::NodeTrial trial;
  if (const auto* node = std::get_if<NodeKey>(&wanted.key)) {
    std::vector<TensorSpec> specs;
    for (const SpecId id : std::get<2>(*node)) specs.push_back(spec(id));
    trial = trial_card_.try_node(wanted.node, specs, config(std::get<1>(*node)));
  } else {
    const auto& [from, to] = std::get<MoveKey>(wanted.key);
    trial = trial_card_.try_move(spec(from), spec(to).memory_config());
  }
  Trial out;
  out.peak_bytes = trial.step.l1_peak_bytes;
  out.operand_bytes = trial.operand_bytes;
  out.list_bytes = trial.step.l1_small_bytes;
  out.config = trial.step.config;
  out.reshards = trial.plan && trial.plan->moves_input && trial.plan->problem.input_memory.is_sharded();
  if (trial.plan && trial.plan->moves_input && !trial.plan->interleaved && !trial.plan->folded)
    out.input_shards = trial.plan->input_memory();
  if (trial.refusal) {
    out.refusal = plain_refusal(*trial.refusal);
    return {std::move(out), std::nullopt};
  }
  out.kernel_ns = trial.step.time.ns;
  out.programs = trial.step.programs;
  out.ns = out.kernel_ns + card_.op_gap_ns * static_cast<double>(out.programs);
  return {std::move(out), std::move(trial.result)};
}

Trial Trials::numbered(UnnumberedTrial trial) {
  if (trial.result) trial.trial.result = id_of(*trial.result);
  return std::move(trial.trial);
}

const Trial& Trials::found(Wanted wanted) {
  static const Trial unknown;
  if (collecting_) {
    if (wanted_keys_.insert(wanted.key).second) wanted_.push_back(std::move(wanted));
    return unknown;
  }
  Trial trial = numbered(tried(wanted));
  if (auto* node = std::get_if<NodeKey>(&wanted.key))
    return nodes_.emplace(std::move(*node), std::move(trial)).first->second;
  return moves_.emplace(std::get<MoveKey>(wanted.key), std::move(trial)).first->second;
}

bool Trials::score(const ScorePieces& pieces) {
  collecting_ = false;
  wanted_keys_.clear();
  const std::vector<Wanted> wanted = std::move(wanted_);
  wanted_.clear();
  if (wanted.empty()) return false;
  const std::vector<std::vector<std::byte>> results = pieces(
      wanted.size(), [&](std::size_t i) { return trial_bytes(tried(wanted[i])).value_or(std::vector<std::byte>()); });
  check(results.size() == wanted.size(), Code::internal, "{} trials came to {} results", wanted.size(), results.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Trial trial = numbered(results[i].empty() ? tried(wanted[i]) : trial_of(results[i]));
    if (const auto* node = std::get_if<NodeKey>(&wanted[i].key))
      nodes_.emplace(*node, std::move(trial));
    else
      moves_.emplace(std::get<MoveKey>(wanted[i].key), std::move(trial));
  }
  return true;
}

const Trial& Trials::node(std::size_t node, std::span<const SpecId> inputs, ConfigId config) {
  NodeKey key{kinds_[node], config, std::vector<SpecId>(inputs.begin(), inputs.end())};
  const auto there = nodes_.find(key);
  return there != nodes_.end() ? there->second : found({node, std::move(key)});
}

const Trial& Trials::move(SpecId from, SpecId to) {
  const auto there = moves_.find({from, to});
  return there != moves_.end() ? there->second : found({0, MoveKey{from, to}});
}

}  // namespace tessera::tensix
