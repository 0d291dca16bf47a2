#include "tessera/targets/tensix/card/l1_timeline.h"

#include <algorithm>
#include <utility>

namespace tessera::tensix {

L1Recorder::L1Recorder(std::shared_ptr<Device> device) : device_(std::move(device)) {
  const Allocator& allocator = device_->allocator();
  timeline_.base_address = allocator.circular_buffer_base();
  timeline_.l1_bytes = device_->card().l1_bytes;
  timeline_.l1_small_address = timeline_.l1_bytes - device_->options().l1_small_bytes;
  timeline_.steps.push_back({"", ""});
  for (const Buffer* buffer : device_->live_buffers()) take({.kind = MemoryEvent::Kind::allocated, .buffer = buffer});
  device_->watch([this](const MemoryEvent& event) { take(event); });
}

L1Recorder::~L1Recorder() { device_->watch({}); }

void L1Recorder::begin_step(std::string name, std::string op) {
  timeline_.steps.push_back({std::move(name), std::move(op)});
  circular_buffer_bytes_ = peak_circular_ = 0;
  peak_ = device_->memory_view(BufferType::l1).allocated_bytes_per_bank;
}

void L1Recorder::begin_step(std::string name, MoveKind move) {
  begin_step(std::move(name), std::string(tensix::name(move)));
  timeline_.steps.back().move = move;
}

void L1Recorder::name_buffer(std::int64_t address, const std::string& name) {
  for (const auto& [buffer, at] : live_)
    if (buffer->type() == BufferType::l1 && buffer->address() == address) timeline_.buffers[at].name = name;
}

std::int64_t L1Recorder::l1_small_bytes() const {
  return device_->options().l1_small_bytes == 0 ? 0
                                                : device_->memory_view(BufferType::l1_small).allocated_bytes_per_bank;
}

void L1Recorder::take(const MemoryEvent& event) {
  const std::int64_t l1 = device_->memory_view(BufferType::l1).allocated_bytes_per_bank;
  const std::size_t step = timeline_.steps.size() - 1;
  switch (event.kind) {
    case MemoryEvent::Kind::allocated: {
      const Buffer& buffer = *event.buffer;
      if (buffer.type() != BufferType::l1 && buffer.type() != BufferType::l1_small) return;
      live_[&buffer] = timeline_.buffers.size();
      timeline_.buffers.push_back({buffer.holds().label, "", buffer.type(), buffer.address(), buffer.bytes_per_bank(),
                                   timeline_.programs.size(), L1Timeline::kStillThere, step, L1Timeline::kStillThere});
      peak_ = std::max(peak_, l1);
      return;
    }
    case MemoryEvent::Kind::freed: {
      const auto found = live_.find(event.buffer);
      if (found == live_.end()) return;
      timeline_.buffers[found->second].end = timeline_.programs.size();
      timeline_.buffers[found->second].end_step = step;
      live_.erase(found);
      return;
    }
    case MemoryEvent::Kind::circular_buffers:
      circular_buffer_bytes_ = event.circular_buffer_bytes;
      peak_circular_ = std::max(peak_circular_, circular_buffer_bytes_);
      peak_ = std::max(peak_, l1 + circular_buffer_bytes_);
      return;
    case MemoryEvent::Kind::program:
      timeline_.programs.push_back(
          {std::string(event.record->op()), event.record->detail, step, circular_buffer_bytes_, l1, l1_small_bytes()});
      circular_buffer_bytes_ = 0;
      return;
  }
}

}  // namespace tessera::tensix
