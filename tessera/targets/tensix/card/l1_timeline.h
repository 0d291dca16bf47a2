#pragma once

// What lay in the L1 of a core while programs ran one after the other. L1 is given out in lock step, so what is true of
// one core is true of all; circular buffers are those of the core that has most.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/card/move_kind.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::tensix {

struct L1Timeline {
  static constexpr std::size_t kStillThere = static_cast<std::size_t>(-1);

  // Lies in L1 while programs first .. end - 1 run.
  struct Buffer {
    std::string label;
    std::string name;  // given by whoever knows what it holds; may be empty
    BufferType type = BufferType::l1;
    std::int64_t address = 0, bytes = 0;
    std::size_t first = 0, end = kStillThere;
    std::size_t step = 0, end_step = kStillThere;  // in which it was allocated and freed

    bool gone_in_its_step() const { return end_step == step; }  // a halo or a copy, not a result
  };
  struct Program {
    std::string op, detail;
    std::size_t step = 0;
    std::int64_t circular_buffer_bytes = 0, l1_bytes = 0, l1_small_bytes = 0;

    std::int64_t total_bytes() const { return circular_buffer_bytes + l1_bytes; }
  };
  // What a user asked for: one operator of a network, with all the programs it takes.
  struct Step {
    std::string name, op;
    std::optional<MoveKind> move = {};  // instead of an operator
  };

  std::int64_t base_address = 0;      // where circular buffers begin
  std::int64_t l1_small_address = 0;  // where tensors end
  std::int64_t l1_bytes = 0;          // where L1_SMALL ends: all of it
  std::vector<Step> steps;
  std::vector<Program> programs;
  std::vector<Buffer> buffers;  // in order of allocation

  std::int64_t limit_bytes() const { return l1_small_address - base_address; }
};

// Follows a device from now on until it is destroyed, as the device's only watcher.
class TSR_API L1Recorder {
 public:
  explicit L1Recorder(std::shared_ptr<Device> device);
  ~L1Recorder();
  L1Recorder(const L1Recorder&) = delete;
  L1Recorder& operator=(const L1Recorder&) = delete;

  void begin_step(std::string name, std::string op);
  void begin_step(std::string name, MoveKind move);
  // The name of what lies at an address now.
  void name_buffer(std::int64_t address, const std::string& name);
  const L1Timeline& timeline() const { return timeline_; }
  // The most that was in use since the step began, circular buffers included, and of L1_SMALL.
  std::int64_t step_peak_bytes() const { return peak_; }
  std::int64_t step_circular_buffer_bytes() const { return peak_circular_; }
  std::int64_t l1_small_bytes() const;

 private:
  void take(const MemoryEvent& event);

  std::shared_ptr<Device> device_;
  L1Timeline timeline_;
  std::unordered_map<const Buffer*, std::size_t> live_;
  std::int64_t circular_buffer_bytes_ = 0, peak_ = 0, peak_circular_ = 0;
};

}  // namespace tessera::tensix
