#pragma once

// A kernel of the CPU backend: what the planner knows of it, and how to make it ready for one node. Making ready packs
// weights and works out every loop bound and offset; running only computes, and allocates nothing.

#include "tessera/core/export.h"
#include "tessera/kernel_plan/kernel_info.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tessera::cpu {

// Where a step finds its operands. Constants that a kernel packed through the WeightCache are null here. Inputs are
// aligned to their element only; outputs to 16 bytes (to their element too, where they lie in a wider value:
// Problem::output_pixels), scratch to 64.
struct StepArgs {
  std::span<const std::byte* const> inputs;  // as in Node::inputs
  std::span<std::byte* const> outputs;
  std::byte* scratch = nullptr;

  template <class T>
  const T* input(std::size_t i) const {
    return reinterpret_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* output(std::size_t i = 0) const {
    return reinterpret_cast<T*>(outputs[i]);
  }
};

// May be called from several threads at once, each with operands of its own.
using Runner = std::function<void(const StepArgs&)>;

// Weights in the order in which a kernel reads them, shared by all plans of a model (a model of many input shapes packs
// once) and aligned to 64 bytes.
class TSR_API PackedWeights {
 public:
  explicit PackedWeights(std::size_t bytes);
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* at) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t bytes_ = 0;
};

class TSR_API WeightCache {
 public:
  // What `pack` made for this constant under this key, which must name the packing with all it depends on. `pack` is
  // called only if nobody holds the result of an earlier call. Weights that are deferred are there for it alone: in the
  // end they are kept packed, not twice.
  std::shared_ptr<const PackedWeights> get(const std::shared_ptr<const Array>& constant, const std::string& key,
                                           const std::function<PackedWeights(const Array&)>& pack);
  std::int64_t bytes() const;  // of what is held by someone

  // While it lives, notes what this thread asks for.
  class TSR_API Watch {
   public:
    Watch();
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    bool saw(const Array* constant) const;

   private:
    friend class WeightCache;
    std::vector<const Array*> seen_;
    Watch* before_;
  };

 private:
  struct Entry {
    std::weak_ptr<const Array> constant;  // tells an array from a later one at its address
    std::weak_ptr<const PackedWeights> packed;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<const Array*, std::string>, Entry> entries_;
};

struct CpuKernel {
  KernelInfo info;
  // `offer` is what info.consider answered.
  Runner (*prepare)(const KernelInfo& kernel, const Problem& problem, const Offer& offer,
                    WeightCache& weights) = nullptr;
};

// Every kernel there is, for every instruction set this build knows; those of lower cost need not come first.
TSR_API std::span<const CpuKernel> kernels();

}  // namespace tessera::cpu
