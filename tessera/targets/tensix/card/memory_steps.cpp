#include "tessera/targets/tensix/card/memory_steps.h"

#include <algorithm>
#include <unordered_set>

namespace tessera::tensix {
namespace {

// Of the memories on a core itself.
bool on_core(BufferType type) { return type == BufferType::l1 || type == BufferType::l1_small; }

}  // namespace

MemorySteps::Slot MemorySteps::existing(const DeviceTensor& x) {
  places_.push_back(
      {"", x.spec().memory_config().buffer_type(), DeviceTensor::request(*device_, x.spec()), x.spec(), x});
  return places_.size() - 1;
}

MemorySteps::Slot MemorySteps::allocate(const TensorSpec& spec, std::string label) {
  return allocate(spec, std::move(label), DeviceTensor::request(*device_, spec));
}

MemorySteps::Slot MemorySteps::allocate(const TensorSpec& spec, std::string label, const AllocationRequest& request) {
  places_.push_back({std::move(label), spec.memory_config().buffer_type(), request, spec, {}});
  steps_.push_back(Allocate{places_.size() - 1});
  return places_.size() - 1;
}

MemorySteps::Slot MemorySteps::allocate(std::string label, BufferType type, const AllocationRequest& request) {
  places_.push_back({std::move(label), type, request, {}, {}});
  steps_.push_back(Allocate{places_.size() - 1});
  return places_.size() - 1;
}

void MemorySteps::free(Slot slot) { steps_.push_back(Free{slot}); }

void MemorySteps::reallocate(Slot slot, std::string key, TraceRecord record) {
  steps_.push_back(Reallocate{slot, std::move(key), std::move(record)});
}

void MemorySteps::run(Program program) { steps_.push_back(std::move(program)); }

class MemorySteps::Rehearsal {
 public:
  explicit Rehearsal(const MemorySteps& steps)
      : steps_(steps),
        device_(*steps.device_),
        allocator_(device_.allocator()),
        next_program_id_(device_.next_program_id()) {
    story_.addresses.resize(steps.places_.size());
    for (std::size_t i = 0; i < steps.places_.size(); ++i)
      if (steps.places_[i].tensor) story_.addresses[i] = steps.places_[i].tensor->address();
  }

  // None: everything fits.
  std::optional<Refusal> run() {
    for (const Step& step : steps_.steps_)
      if (std::optional<Refusal> refusal = std::visit([this](const auto& s) { return take(s); }, step)) return refusal;
    return std::nullopt;
  }
  MemoryStory story() && { return std::move(story_); }
  const MemoryPeak& peak() const { return story_.peak; }

 private:
  std::optional<Refusal> take(const Allocate& step) { return give(step.slot); }

  std::optional<Refusal> take(const Free& step) {
    const Place& place = steps_.places_[step.slot];
    if (place.request.bytes_per_bank == 0) return std::nullopt;
    allocator_.deallocate(place.type, story_.addresses[step.slot]);
    if (on_core(place.type) && !place.tensor) l1_bytes_ -= place.request.bytes_per_bank;
    return std::nullopt;
  }

  std::optional<Refusal> take(const Reallocate& step) {
    const std::int64_t before = story_.addresses[step.slot];
    take(Free{step.slot});
    if (std::optional<Refusal> refusal = give(step.slot)) return refusal;
    if (story_.addresses[step.slot] != before) {
      begin(step.key, step.record);
      circular_buffer_bytes_ = 0;
    }
    return std::nullopt;
  }

  std::optional<Refusal> take(const Program& program) {
    ProgramMemory& memory = begin(program.key, program.record);
    if (memory.built)
      for (const KeptList& list : program.lists) {
        if (std::optional<Refusal> refusal = place(list.label, list.type, list.request, memory.allocated))
          return refusal;
        count();
      }
    circular_buffer_bytes_ = 0;  // those of the program before it lived until now
    if (!program.dataflow)
      for (const CircularBuffer& buffer : program.circular_buffers) circular_buffer_bytes_ += buffer.bytes;
    count();
    Result<CircularBufferPlacement> placed = try_place_circular_buffers(
        device_.card(), allocator_, program.circular_buffers, memory.id, program.dataflow ? "dataflow" : "circular");
    if (!placed) return placed.refusal();
    memory.circular_buffers = std::move(placed->buffers);
    return std::nullopt;
  }

  ProgramMemory& begin(const std::string& key, const TraceRecord& record) {
    ProgramMemory& memory = story_.programs.emplace_back();
    memory.kind = record.kind;
    memory.work = record.work;
    memory.id = next_program_id_;
    memory.built = !device_.has_program(key) && built_.insert(key).second;
    if (memory.built) next_program_id_ += Device::kProgramIdStep;
    memory.allocated = std::move(allocated_);
    allocated_.clear();
    return memory;
  }

  std::optional<Refusal> give(Slot slot) {
    const Place& p = steps_.places_[slot];
    if (p.request.bytes_per_bank == 0) return std::nullopt;
    if (std::optional<Refusal> refusal = place(p.label, p.type, p.request, allocated_)) return refusal;
    story_.addresses[slot] = allocated_.back().address;
    count();
    return std::nullopt;
  }

  std::optional<Refusal> place(const std::string& label, BufferType type, const AllocationRequest& request,
                               std::vector<PlacedBuffer>& to) {
    const Result<std::int64_t> address = allocator_.try_allocate(type, request);
    if (!address) return address.refusal();
    if (on_core(type)) l1_bytes_ += request.bytes_per_bank;
    to.push_back({label, type, *address, request.bytes_per_bank, request.banks});
    return std::nullopt;
  }

  void count() {
    MemoryPeak& peak = story_.peak;
    peak.circular_buffer_bytes = std::max(peak.circular_buffer_bytes, circular_buffer_bytes_);
    peak.l1_bytes = std::max(peak.l1_bytes, l1_bytes_);
    peak.total_bytes = std::max(peak.total_bytes, l1_bytes_ + circular_buffer_bytes_);
  }

  const MemorySteps& steps_;
  const Device& device_;
  Allocator allocator_;
  MemoryStory story_;
  std::vector<PlacedBuffer> allocated_;
  std::unordered_set<std::string> built_;
  std::int64_t next_program_id_;
  std::int64_t l1_bytes_ = 0, circular_buffer_bytes_ = 0;
};

Result<MemoryStory> MemorySteps::rehearse(MemoryPeak* reached) const {
  device_->check_open();
  Rehearsal rehearsal(*this);
  if (std::optional<Refusal> refusal = rehearsal.run()) {
    if (reached != nullptr) *reached = rehearsal.peak();
    return std::move(*refusal);
  }
  return std::move(rehearsal).story();
}

class MemorySteps::Performance {
 public:
  explicit Performance(const MemorySteps& steps) : steps_(steps), device_(steps.device_) {
    tensors_.resize(steps.places_.size());
    buffers_.resize(steps.places_.size());
    for (std::size_t i = 0; i < steps.places_.size(); ++i) tensors_[i] = steps.places_[i].tensor;
  }

  std::vector<std::optional<DeviceTensor>> run() && {
    for (const Step& step : steps_.steps_) std::visit([this](const auto& s) { take(s); }, step);
    for (std::optional<DeviceTensor>& tensor : tensors_)
      if (tensor && !tensor->is_allocated()) tensor.reset();
    return std::move(tensors_);
  }

 private:
  void take(const Allocate& step) {
    const Place& place = steps_.places_[step.slot];
    if (place.spec)
      tensors_[step.slot] = DeviceTensor::allocate(device_, *place.spec, place.request);
    else
      buffers_[step.slot] = device_->allocate(place.type, place.request, {place.label, {}});
  }

  void take(const Free& step) {
    if (buffers_[step.slot])
      buffers_[step.slot].reset();
    else
      tensors_[step.slot]->deallocate();
  }

  void take(const Reallocate& step) {
    const std::int64_t before = address(step.slot);
    take(Free{step.slot});
    take(Allocate{step.slot});
    if (address(step.slot) != before) device_->finish_program(step.record, step.key);
  }

  void take(const Program& program) {
    if (!device_->has_program(program.key))
      for (const KeptList& list : program.lists)
        device_->allocate_for_program(program.key, list.type, list.request, {list.label, {}});
    place_circular_buffers(*device_, program.circular_buffers, device_->next_program_id());  // as rehearsed
    device_->finish_program(program.record, program.key);
  }

  std::int64_t address(Slot slot) const {
    return buffers_[slot] ? buffers_[slot]->address() : tensors_[slot]->address();
  }

  const MemorySteps& steps_;
  std::shared_ptr<Device> device_;
  std::vector<std::optional<DeviceTensor>> tensors_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
};

std::vector<std::optional<DeviceTensor>> MemorySteps::carry_out() const { return Performance(*this).run(); }

}  // namespace tessera::tensix
