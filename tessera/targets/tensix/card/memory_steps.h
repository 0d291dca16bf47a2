#pragma once

// What an operator asks of a card's memory, as a list of steps. It is rehearsed on a copy of the allocator before it is
// carried out, so that an operator that does not fit fails before anything has changed; and the rehearsal is the whole
// story of its memory: every address, every circular buffer, the peak.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/trace.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tessera::tensix {

struct PlacedBuffer {
  std::string label;
  BufferType type = BufferType::l1;
  std::int64_t address = 0;
  std::int64_t bytes_per_bank = 0;
  int banks = 0;
};

// What one program found and placed.
struct ProgramMemory {
  ProgramKind kind = ProgramKind::unary;
  std::int64_t id = 0;
  bool built = false;                   // false: the device had it in its cache
  std::vector<PlacedBuffer> allocated;  // since the program before it: outputs, then lists it keeps
  std::vector<PlacedCircularBuffer> circular_buffers;
  std::shared_ptr<const ProgramWork> work;  // null where nobody has said
};

// Per core, and only what the operator itself has allocated.
struct MemoryPeak {
  std::int64_t circular_buffer_bytes = 0;
  std::int64_t l1_bytes = 0;  // L1 and L1_SMALL
  std::int64_t total_bytes = 0;
};

struct MemoryStory {
  std::vector<ProgramMemory> programs;
  MemoryPeak peak;
  std::vector<std::int64_t> addresses;  // by slot, the last one it had
};

class TSR_API MemorySteps {
 public:
  using Slot = std::size_t;

  // Memory that a program keeps for itself as long as the device has it in its cache.
  struct KeptList {
    std::string label;
    BufferType type = BufferType::l1_small;
    AllocationRequest request;
  };
  struct Program {
    std::string key;  // programs of the same key are built once
    std::vector<KeptList> lists;
    std::vector<CircularBuffer> circular_buffers;  // those with memory of their own
    bool dataflow = false;  // its buffers are dataflow buffers, which TTNN's count of the peak leaves out
    TraceRecord record;
  };

  explicit MemorySteps(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  Slot existing(const DeviceTensor& x);  // on the card already
  Slot allocate(const TensorSpec& spec, std::string label);
  Slot allocate(const TensorSpec& spec, std::string label, const AllocationRequest& request);  // more than it takes
  // Shards without a tensor's pages: the same bytes on each of some cores.
  Slot allocate(std::string label, BufferType type, const AllocationRequest& request);
  void free(Slot slot);
  // Frees and allocates again; where that leads to another address, a program moves the contents.
  void reallocate(Slot slot, std::string key, TraceRecord record);
  void run(Program program);

  // Refuses what does not fit, and changes nothing. `reached` gets the peak so far when it refuses, the circular
  // buffers of a program that does not fit included.
  Result<MemoryStory> rehearse(MemoryPeak* reached = nullptr) const;
  // After a rehearsal. The tensor of each slot that has one and is still allocated.
  std::vector<std::optional<DeviceTensor>> carry_out() const;

 private:
  struct Place {
    std::string label;
    BufferType type = BufferType::l1;
    AllocationRequest request;
    std::optional<TensorSpec> spec;
    std::optional<DeviceTensor> tensor;  // existing
  };
  struct Allocate {
    Slot slot;
  };
  struct Free {
    Slot slot;
  };
  struct Reallocate {
    Slot slot;
    std::string key;
    TraceRecord record;
  };
  using Step = std::variant<Allocate, Free, Reallocate, Program>;
  class Rehearsal;
  class Performance;

  std::shared_ptr<Device> device_;
  std::vector<Place> places_;
  std::vector<Step> steps_;
};

}  // namespace tessera::tensix
