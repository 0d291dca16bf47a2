#pragma once

// The device that tests of liquid layers run on, and a layer's tensors on it.

#include "tessera/machine/machine_file.h"
#include "tessera/targets/cuda/device/memory.h"
#include "tessera/targets/cuda/kernels/kernel_library.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_tensors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tessera::cuda {

struct LiquidGpu {
  Context context;
  KernelLibrary library{context};
  Stream stream{context};
  GpuSpec spec = *load_machine_file(TESSERA_MACHINES_DIR "/nvidia_h200.toml").gpu;
};

inline LiquidGpu& liquid_gpu() {
  static LiquidGpu one;
  return one;
}

using LiquidFloats = std::vector<float>;

// What a layer is given.
struct LiquidData {
  LiquidFloats x, times, first;
  bool one_time = false;
};

struct LiquidResults {
  LiquidFloats states, last, output;
};

// Beyond each result lies a guard that nothing may write to.
class GuardedResult {
 public:
  explicit GuardedResult(std::size_t floats) : floats_(floats), memory_(liquid_gpu().context, bytes()) {
    memory_.fill(liquid_gpu().stream, 0xFF);
  }
  float* data() const { return static_cast<float*>(memory_.data()); }
  LiquidFloats read() const {
    std::vector<std::byte> found(static_cast<std::size_t>(bytes()));
    memory_.read(liquid_gpu().stream, found);
    liquid_gpu().stream.synchronize();
    for (std::size_t i = floats_ * 4; i < found.size(); ++i)
      if (found[i] != std::byte{0xFF}) {
        ADD_FAILURE() << "something was written behind a result";
        break;
      }
    LiquidFloats out(floats_);
    if (floats_ > 0) std::memcpy(out.data(), found.data(), floats_ * 4);
    return out;
  }

 private:
  std::int64_t bytes() const { return static_cast<std::int64_t>(floats_ * 4 + 512); }
  std::size_t floats_;
  Memory memory_;
};

// Twice, the second while the first may still run; then once more with the last state alone, which must be the same.
template <class Prepared>
LiquidResults run_prepared(const Prepared& prepared, const LiquidData& data, std::size_t states, std::size_t last,
                           std::size_t output) {
  const auto copied = [](const LiquidFloats& values) {
    return Memory(liquid_gpu().context, std::as_bytes(std::span(values)));
  };
  const Memory x = copied(data.x), times = copied(data.times), first = copied(data.first);
  const GuardedResult all(states), end(last), alone(last), made(output);
  LiquidTensors tensors{.x = static_cast<const float*>(x.data()),
                        .times = static_cast<const float*>(times.data()),
                        .one_time = data.one_time,
                        .first = static_cast<const float*>(first.data()),
                        .states = all.data(),
                        .last = end.data(),
                        .output = output > 0 ? made.data() : nullptr};
  const auto bound = prepared.bind(tensors);
  bound.launch(liquid_gpu().stream);
  bound.launch(liquid_gpu().stream);
  tensors.states = nullptr;
  tensors.last = alone.data();
  prepared.bind(tensors).launch(liquid_gpu().stream);
  LiquidResults out{all.read(), end.read(), made.read()};
  const LiquidFloats again = alone.read();
  EXPECT_EQ(std::memcmp(again.data(), out.last.data(), again.size() * 4), 0)
      << "the last state differs where no others are wanted";
  return out;
}

}  // namespace tessera::cuda
