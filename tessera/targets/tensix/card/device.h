#pragma once

// A card in software: its banks hold real bytes, its allocator gives them out, its trace remembers what moved.
// A device is used by one thread at a time.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/card/allocator.h"
#include "tessera/targets/tensix/card/bank_memory.h"
#include "tessera/targets/tensix/card/page_map.h"
#include "tessera/targets/tensix/card/trace.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace tessera::tensix {

class Buffer;

// What a buffer is for, as reports show it.
struct BufferContents {
  std::string label;                        // "[1, 1, 64, 64] bfloat16 TILE HEIGHT_SHARDED"
  std::vector<std::int64_t> bytes_by_bank;  // useful bytes in each bank; empty if unknown
};

// What happens to a device's memory, told while it happens.
struct MemoryEvent {
  enum class Kind : std::uint8_t {
    allocated,
    freed,
    circular_buffers,  // placed for the program that runs next
    program,           // has run; its circular buffers are gone
  };
  Kind kind = Kind::allocated;
  const Buffer* buffer = nullptr;          // of the first two
  std::int64_t circular_buffer_bytes = 0;  // on the core that has most, alignment included
  const TraceRecord* record = nullptr;     // of a program
};

// Called for what goes through a device's command queues. Any may throw: the operation then fails.
struct DeviceHooks {
  std::function<void(std::string_view op)> before_transfer;  // between host and device, before anything is allocated
  std::function<void(const TraceRecord&)> on_transfer;
  std::function<void(const TraceRecord&, bool cached)> on_program;  // cached: it has run before
};

// Where an allocation went, so that a replay can go there again.
struct Allocation {
  BufferType type = BufferType::dram;
  std::int64_t address = 0;
  std::int64_t bytes_per_bank = 0;
  bool operator==(const Allocation&) const = default;
};

class TSR_API Device : public std::enable_shared_from_this<Device> {
 public:
  // Refuses machines that have no banks to simulate (anything but the tensix family).
  static std::shared_ptr<Device> open(const Machine& machine, const DeviceOptions& options = {}, int id = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Frees every buffer and all memory; using a tensor of a closed device is an Error. Closing twice does nothing.
  void close();
  bool is_open() const { return open_; }
  void check_open() const;

  int id() const { return id_; }
  const Machine& machine() const { return machine_; }
  const TensixSpec& card() const { return *machine_.tensix; }
  const DeviceOptions& options() const { return options_; }
  CoreGrid grid() const { return {card().grid_y, card().grid_x}; }
  BankGrid banks(BufferType type) const;

  const Allocator& allocator() const { return allocator_; }
  MemoryView memory_view(BufferType type) const { return allocator_.view(type); }
  BankMemory& memory(BufferType type);

  // `holds` says what is in the buffer, for reports.
  std::shared_ptr<Buffer> allocate(BufferType type, const AllocationRequest& request, BufferContents holds = {});
  // For what the device owns itself, in the end: such a buffer does not keep it alive.
  std::shared_ptr<Buffer> allocate_inside(BufferType type, const AllocationRequest& request, BufferContents holds = {});
  // Frees every buffer; tensors that use one are no longer allocated.
  void deallocate_buffers();
  // Those not yet freed, in order of allocation.
  const std::vector<const Buffer*>& live_buffers() const { return live_; }

  // Each operation is a program, built when its `key` (operation and specs) is seen first and cached from then on. Its
  // record goes to the trace; a new program also shows up in memory reports.
  void finish_program(TraceRecord record, const std::string& key);
  std::int64_t next_program_id() const { return next_program_id_; }
  static constexpr std::int64_t kProgramIdStep = 2;  // TTNN builds two programs for each that runs, and counts both
  std::int64_t cached_programs() const { return static_cast<std::int64_t>(program_cache_.size()); }
  bool has_program(const std::string& key) const { return program_cache_.contains(key); }
  // Memory that a program reads each time it runs, such as lists of what to copy: it lives as long as the program does.
  void allocate_for_program(const std::string& key, BufferType type, const AllocationRequest& request,
                            BufferContents holds = {});
  void clear_program_cache();

  // One listener at a time hears of every event; none: an empty function. It must not use the device.
  void watch(std::function<void(const MemoryEvent&)> watcher) { watcher_ = std::move(watcher); }
  void note(const MemoryEvent& event) const {
    if (watcher_) watcher_(event);
  }

  const Trace& trace() const { return trace_; }
  void clear_trace() { trace_.clear(); }
  void before_transfer(std::string_view op) const {
    if (hooks_.before_transfer) hooks_.before_transfer(op);
  }
  void note_transfer(TraceRecord record);  // to or from the host: no program

  void set_hooks(DeviceHooks hooks) { hooks_ = std::move(hooks); }
  // From here on every allocation is also written to `log` (null: no more).
  void log_allocations(std::vector<Allocation>* log) { allocation_log_ = log; }
  // Until end_replay() the allocator is in the state given and knows of no other buffers. Buffers made in between must
  // be gone by then.
  void begin_replay(const Allocator& state);
  void end_replay();
  bool is_replaying() const { return replaced_.has_value(); }

 private:
  friend class Buffer;
  Device(const Machine& machine, const DeviceOptions& options, int id);

  int id_;
  Machine machine_;
  DeviceOptions options_;
  Allocator allocator_;
  std::unique_ptr<BankMemory> l1_, dram_;
  bool open_ = true;
  std::int64_t next_program_id_ = 0;
  std::unordered_set<std::string> program_cache_;
  Trace trace_;
  std::vector<const Buffer*> live_;
  std::function<void(const MemoryEvent&)> watcher_;
  DeviceHooks hooks_;
  std::vector<Allocation>* allocation_log_ = nullptr;
  struct Replaced {
    Allocator allocator;
    std::vector<const Buffer*> live;
  };
  std::optional<Replaced> replaced_;
  std::vector<std::unique_ptr<Buffer>> program_buffers_;  // they do not own the device; last, to go first
};

// One allocation: the same address in every bank of a memory. Frees itself with its last owner.
class TSR_API Buffer {
 public:
  Buffer(std::shared_ptr<Device> device, BufferType type, std::int64_t address, std::int64_t bytes_per_bank,
         BufferContents holds);
  // Memory that is somebody else's, or was: it is freed only when deallocate() is called.
  Buffer(std::shared_ptr<Device> device, const Allocation& borrowed);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const std::shared_ptr<Device>& device() const { return device_; }
  BufferType type() const { return type_; }
  std::int64_t address() const { return address_; }
  std::int64_t bytes_per_bank() const { return bytes_per_bank_; }
  const BufferContents& holds() const { return holds_; }
  Allocation allocation() const { return {type_, address_, bytes_per_bank_}; }
  bool is_allocated() const { return allocated_ && device_->is_open(); }
  void deallocate();

 private:
  std::shared_ptr<Device> device_;
  BufferType type_;
  std::int64_t address_;
  std::int64_t bytes_per_bank_;
  BufferContents holds_;
  bool borrowed_ = false;
  bool allocated_ = true;
};

}  // namespace tessera::tensix
