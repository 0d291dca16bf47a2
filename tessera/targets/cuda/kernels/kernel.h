#pragma once

// A kernel of the CUDA backend: what the planner knows of it, and how to make it ready for one node on one device.
// Making ready packs weights, copies them to the device and works out every argument; launching only puts kernels into
// a stream, and allocates nothing on the device.

#include "tessera/core/export.h"
#include "tessera/kernel_plan/kernel_info.h"
#include "tessera/targets/cuda/device/memory.h"
#include "tessera/targets/cuda/device/stream.h"
#include "tessera/targets/cuda/kernels/kernel_library.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cuda {

// Weights on the device in the order in which kernels read them, shared by all programs of a model.
class TSR_API WeightStore {
 public:
  explicit WeightStore(const Context& context) : context_(context) {}

  // What `pack` made for this constant under this key, which names the packing with all it depends on. `pack` is called
  // only if nobody holds the result of an earlier call.
  std::shared_ptr<const Memory> get(const std::shared_ptr<const Array>& constant, const std::string& key,
                                    const std::function<std::vector<std::byte>(const Array&)>& pack);
  std::int64_t bytes() const;  // of what is held by someone

 private:
  struct Entry {
    std::weak_ptr<const Array> constant;  // tells an array from a later one at its address
    std::weak_ptr<const Memory> memory;
  };
  const Context& context_;
  mutable std::mutex mutex_;
  std::map<std::pair<const Array*, std::string>, Entry> entries_;
};

// What a kernel is made ready with.
struct Device {
  KernelLibrary& library;
  WeightStore& weights;
};

// Where a step's operands lie on the device.
struct StepAddresses {
  std::function<const void*(std::size_t i)> input;  // of Node::inputs; a constant is copied there when it is asked for
  std::vector<void*> outputs;                       // null where nobody asked for it
  void* scratch = nullptr;
  // Where an input is a caller's float32 image, channels first, that was cast for this step alone: that image, and it
  // is not cast any more. Otherwise null.
  std::function<const float*(std::size_t i)> take_uncast = [](std::size_t) { return nullptr; };
};

// Puts a step into a stream. Holds what it needs beside the step's operands.
using Launch = std::function<void(const Stream&)>;

struct CudaKernel {
  KernelInfo info;
  // `offer` is what info.consider answered.
  Launch (*prepare)(const KernelInfo& kernel, const Problem& problem, const Offer& offer, Device& device,
                    const StepAddresses& at) = nullptr;
};

// Every kernel there is.
TSR_API std::span<const CudaKernel> kernels();

// --- for families --------------------------------------------------------------------------------------------------

// "f16", "bf16", "f32": as names of kernels have it.
std::string_view short_name(ElementType type);

// A refusal unless all inputs that are values of the network, and the result, are of this type.
std::optional<Refusal> refuse_types(const Problem& problem, ElementType type);

// Elements that 16 bytes hold.
inline int pack_elements(ElementType type) { return static_cast<int>(16 / element_bytes(type)); }

// Seconds of a kernel that does little more than read and write so many bytes.
Estimate streaming_estimate(const GpuSpec& gpu, double bytes);
// With the bytes of the problem's operands.
Estimate streaming_estimate(const Problem& problem);

// float32 values as elements of a type.
TSR_API std::vector<std::byte> rounded_to(ElementType type, std::span<const float> values);
TSR_API std::vector<float> floats_of(const Array& array);

// Blocks of `threads` for so many items.
int blocks_for(std::int64_t items, int threads);

// A launch of one kernel: its arguments are copied, those that point at memory on the device too.
template <class... Arguments>
Launch launch_of(Function function, LaunchShape shape, Arguments... arguments) {
  return [function = std::move(function), shape, arguments...](const Stream& stream) {
    auto copies = std::tuple<Arguments...>(arguments...);
    std::apply(
        [&](auto&... each) {
          void* values[] = {const_cast<void*>(static_cast<const void*>(&each))...};
          function.launch(stream, shape, values);
        },
        copies);
  };
}

// Nothing is launched for results of no elements.
inline Launch nothing() {
  return [](const Stream&) {};
}

}  // namespace tessera::cuda
