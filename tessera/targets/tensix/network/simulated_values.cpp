#include "tessera/targets/tensix/network/simulated_values.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/move/move.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <algorithm>

namespace tessera::tensix {

SimulatedValues::SimulatedValues(const LoweredGraph& network, L1Recorder& recorder)
    : network_(network), recorder_(recorder) {
  const std::size_t count = network.graph.values.size();
  tensors_.resize(count);
  arrays_.resize(count);
  uses_.resize(count);
  for (std::size_t i = 0; i < network.nodes.size(); ++i)
    for (const ValueId id : network.nodes[i].inputs) uses_[static_cast<std::size_t>(id)].push_back(i);
  for (const ValueId id : network.graph.outputs) uses_[static_cast<std::size_t>(id)].push_back(kAtTheEnd);
}

const DeviceTensor& SimulatedValues::at(ValueId id) const {
  const auto& tensor = tensors_[static_cast<std::size_t>(id)];
  check(tensor.has_value(), Code::internal, "value '{}' is not on the card", network_.graph.value(id).name);
  return *tensor;
}

void SimulatedValues::put(ValueId id, DeviceTensor tensor) {
  if (tensor.spec().memory_config().buffer_type() == BufferType::l1)
    recorder_.name_buffer(tensor.address(), network_.graph.value(id).name);
  tensors_[static_cast<std::size_t>(id)] = std::move(tensor);
}

void SimulatedValues::slide(ValueId id) {
  at(id);
  DeviceTensor& tensor = *tensors_[static_cast<std::size_t>(id)];
  put(id, tensix::move(tensor));
}

void SimulatedValues::put_on_host(ValueId id, Array array) { arrays_[static_cast<std::size_t>(id)] = std::move(array); }

const Array* SimulatedValues::on_host(ValueId id) const {
  const auto& array = arrays_[static_cast<std::size_t>(id)];
  return array ? &*array : nullptr;
}

std::size_t SimulatedValues::next_use(ValueId id) const {
  const auto& uses = uses_[static_cast<std::size_t>(id)];
  const auto next = std::upper_bound(uses.begin(), uses.end(), now_);
  return next == uses.end() ? kNever : *next;
}

bool SimulatedValues::may_consume(ValueId id) const {
  const auto& tensor = tensors_[static_cast<std::size_t>(id)];
  return is_last_use(id) && tensor && tensor->is_sole_owner();
}

void SimulatedValues::end() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i] && !arrays_[i]) continue;
    if (next_use(static_cast<ValueId>(i)) != kNever) continue;
    tensors_[i].reset();
    arrays_[i].reset();
  }
}

void SimulatedValues::free(ValueId id) {
  const std::size_t next = next_use(id);
  check(next == kNever, Code::invalid_argument, "the plan frees '{}', which '{}' still reads",
        network_.graph.value(id).name, next < network_.nodes.size() ? network_.nodes[next].name : "the end");
  tensors_[static_cast<std::size_t>(id)].reset();
  arrays_[static_cast<std::size_t>(id)].reset();
}

std::optional<SimulatedValues::Spilled> SimulatedValues::spill(std::span<const ValueId> keep) {
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (!tensors_[i] || !tensors_[i]->is_allocated() || !tensors_[i]->spec().memory_config().is_l1() ||
        !tensors_[i]->is_sole_owner() || std::find(keep.begin(), keep.end(), id) != keep.end())
      continue;
    if (!last || next_use(id) > next_use(static_cast<ValueId>(*last))) last = i;
  }
  if (!last) return std::nullopt;
  const DeviceTensor& there = *tensors_[*last];
  const std::size_t next = next_use(static_cast<ValueId>(*last));
  Spilled spilled{network_.graph.values[*last].name,
                  next < network_.nodes.size() ? network_.nodes[next].name : "the end",
                  DeviceTensor::request(*there.device(), there.spec()).bytes_per_bank};
  tensors_[*last] = to_memory_config(there, kDramMemoryConfig);
  return spilled;
}

}  // namespace tessera::tensix
