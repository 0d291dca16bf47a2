#pragma once

// What a call does in L1, in order: tensors that come ("+ bytes") and go ("- bytes"), and the bytes of circular buffers
// that a core has of its own in each program ("cb bytes"). Of ours, and of the real one (tests/oracle/*_buffers.py).

#include "tessera/targets/tensix/card/device.h"

#include "tests/targets/tensix/card/golden.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

namespace tessera::tensix {

struct ProgramEvents {
  std::vector<std::string> memory;
  std::vector<std::string> programs;  // of ours
};

inline ProgramEvents events_of(Device& device, const std::function<void()>& call) {
  ProgramEvents out;
  const std::int64_t alignment = device.allocator().allocation_alignment_bytes();
  device.watch([&](const MemoryEvent& event) {
    using EventKind = MemoryEvent::Kind;
    if (event.kind == EventKind::program)
      out.programs.emplace_back(event.record->op());
    else if (event.kind == EventKind::circular_buffers)
      out.memory.push_back(fmt::format("cb {}", event.circular_buffer_bytes));
    else if (event.buffer->type() == BufferType::l1)
      out.memory.push_back(fmt::format("{} {}", event.kind == EventKind::allocated ? "+" : "-",
                                       round_up(event.buffer->bytes_per_bank(), alignment)));
  });
  struct Unwatch {
    Device& device;
    ~Unwatch() { device.watch({}); }
  } const unwatch{device};
  call();
  return out;
}

// The real one tells of a program before it tells of the tensor that the program makes.
inline std::vector<std::string> events_of(const golden::Json& events, std::int64_t alignment) {
  std::vector<std::string> out;
  std::int64_t buffers = 0;
  const auto finish = [&] {
    if (buffers > 0) out.push_back(fmt::format("cb {}", buffers));
    buffers = 0;
  };
  for (const golden::Json& event : events) {
    const std::string what = event[0];
    if (what == "+" || what == "-") {
      if (what == "-") finish();
      out.push_back(fmt::format("{} {}", what, round_up(event[1].get<std::int64_t>(), alignment)));
      continue;
    }
    finish();
    for (const golden::Json& bytes : event[1]) buffers = round_up(buffers, alignment) + bytes.get<std::int64_t>();
  }
  finish();
  return out;
}

}  // namespace tessera::tensix
