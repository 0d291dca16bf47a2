#include "tessera/targets/tensix/card/device.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/memory_report.h"

#include <utility>

namespace tessera::tensix {
namespace {

const TensixSpec& card_of(const Machine& machine) {
  check(machine.tensix.has_value(), Code::unsupported, Hint{"open one of the Wormhole or Blackhole machines"},
        "machine '{}' of family '{}' has no memory banks that tensors can be placed in", machine.name, machine.family);
  return *machine.tensix;
}

}  // namespace

Device::Device(const Machine& machine, const DeviceOptions& options, int id)
    : id_(id), machine_(machine), options_(options), allocator_(card_of(machine_), options) {
  check(options.command_queues == 1 || options.command_queues == 2, Code::invalid_argument,
        "num_command_queues is {}, a card has 1 or 2", options.command_queues);
  l1_ = std::make_unique<BankMemory>(card().grid_x * card().grid_y, card().l1_bytes);
  dram_ = std::make_unique<BankMemory>(card().dram_banks, card().dram_bank_base_bytes + card().dram_bank_bytes);
}

std::shared_ptr<Device> Device::open(const Machine& machine, const DeviceOptions& options, int id) {
  return std::shared_ptr<Device>(new Device(machine, options, id));
}

Device::~Device() = default;

void Device::close() {
  if (!open_) return;
  const DeviceHooks gone = std::exchange(hooks_, {});  // what they own goes when all is closed
  allocation_log_ = nullptr;
  clear_program_cache();
  open_ = false;
  allocator_.clear();
  live_.clear();
  l1_.reset();
  dram_.reset();
}

void Device::check_open() const {
  check(open_, Code::invalid_argument, "device {} ({}) is closed", id_, machine_.name);
}

BankGrid Device::banks(BufferType type) const {
  if (type == BufferType::dram || type == BufferType::trace) return {card().dram_banks, 1};
  return {card().grid_x, card().grid_y};
}

BankMemory& Device::memory(BufferType type) {
  check_open();
  return type == BufferType::dram || type == BufferType::trace ? *dram_ : *l1_;
}

std::shared_ptr<Buffer> Device::allocate(BufferType type, const AllocationRequest& request, BufferContents holds) {
  check_open();
  const std::int64_t address = allocator_.allocate(type, request);
  if (allocation_log_ != nullptr) allocation_log_->push_back({type, address, request.bytes_per_bank});
  return std::make_shared<Buffer>(shared_from_this(), type, address, request.bytes_per_bank, std::move(holds));
}

std::shared_ptr<Buffer> Device::allocate_inside(BufferType type, const AllocationRequest& request,
                                                BufferContents holds) {
  check_open();
  const std::int64_t address = allocator_.allocate(type, request);
  const std::shared_ptr<Device> borrowed(std::shared_ptr<Device>(), this);
  return std::make_shared<Buffer>(borrowed, type, address, request.bytes_per_bank, std::move(holds));
}

void Device::allocate_for_program(const std::string& key, BufferType type, const AllocationRequest& request,
                                  BufferContents holds) {
  check_open();
  check(!has_program(key), Code::internal, "program '{}' has been built already", key);
  const std::int64_t address = allocator_.allocate(type, request);
  const std::shared_ptr<Device> borrowed(std::shared_ptr<Device>(), this);
  program_buffers_.push_back(
      std::make_unique<Buffer>(borrowed, type, address, request.bytes_per_bank, std::move(holds)));
}

void Device::clear_program_cache() {
  program_cache_.clear();
  program_buffers_.clear();
}

void Device::deallocate_buffers() {
  check_open();
  while (!live_.empty()) const_cast<Buffer*>(live_.back())->deallocate();
}

void Device::begin_replay(const Allocator& state) {
  check_open();
  check(!replaced_, Code::internal, "device {} is replaying a trace already", id_);
  replaced_ = Replaced{std::exchange(allocator_, state), std::exchange(live_, {})};
}

void Device::end_replay() {
  check(replaced_.has_value(), Code::internal, "device {} replays nothing", id_);
  check(live_.empty(), Code::internal, "{} buffers of a replay are still in use", live_.size());
  allocator_ = std::move(replaced_->allocator);
  live_ = std::move(replaced_->live);
  replaced_.reset();
}

void Device::note_transfer(TraceRecord record) {
  if (hooks_.on_transfer) hooks_.on_transfer(record);
  trace_.push_back(std::move(record));
}

void Device::finish_program(TraceRecord record, const std::string& key) {
  if (hooks_.on_program) hooks_.on_program(record, has_program(key));
  note({.kind = MemoryEvent::Kind::program, .record = &record});
  trace_.push_back(std::move(record));
  if (!program_cache_.insert(key).second) return;
  note_program(*this, next_program_id_);
  next_program_id_ += kProgramIdStep;
}

Buffer::Buffer(std::shared_ptr<Device> device, BufferType type, std::int64_t address, std::int64_t bytes_per_bank,
               BufferContents holds)
    : device_(std::move(device)),
      type_(type),
      address_(address),
      bytes_per_bank_(bytes_per_bank),
      holds_(std::move(holds)) {
  device_->live_.push_back(this);
  device_->note({.kind = MemoryEvent::Kind::allocated, .buffer = this});
}

Buffer::Buffer(std::shared_ptr<Device> device, const Allocation& borrowed)
    : device_(std::move(device)),
      type_(borrowed.type),
      address_(borrowed.address),
      bytes_per_bank_(borrowed.bytes_per_bank),
      borrowed_(true) {}

Buffer::~Buffer() {
  if (!borrowed_) deallocate();
}

void Buffer::deallocate() {
  if (is_allocated()) {
    device_->allocator_.deallocate(type_, address_);
    std::erase(device_->live_, this);
    device_->note({.kind = MemoryEvent::Kind::freed, .buffer = this});
  }
  allocated_ = false;
}

}  // namespace tessera::tensix
