#pragma once

// What an operator's row asks of a simulated network while one node of it runs: its operands, how it shall run, and
// what to do where it does not fit.

#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/layer_config.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tessera::tensix {

struct ConvLayer;

inline bool is_tiled(const DeviceTensor& x) { return x.spec().layout() == Layout::tile; }
inline DeviceTensor in_dram(const DeviceTensor& x) { return to_memory_config(x, kDramMemoryConfig); }
inline DeviceTensor in_rows(const DeviceTensor& x) { return is_tiled(x) ? to_layout(x, Layout::row_major) : x; }
inline DeviceTensor in_tiles(const DeviceTensor& x) { return is_tiled(x) ? x : to_layout(x, Layout::tile); }

class NodeRun {
 public:
  using Body = std::function<DeviceTensor()>;

  virtual ~NodeRun() = default;

  virtual std::size_t inputs() const = 0;
  virtual const DeviceTensor& input(std::size_t i = 0) const = 0;
  // Nobody reads it later, and its memory is its own. Ask before there is a second handle.
  virtual bool may_consume(std::size_t i = 0) const = 0;
  // Others read the copy from now on.
  virtual void replace_input(std::size_t i, DeviceTensor copy) = 0;
  // The matrices that its first input and its result are.
  virtual Extent2d input_matrix() const = 0;
  virtual Extent2d output_matrix() const = 0;

  virtual LayerConfig config() const = 0;
  virtual ComputeConfig compute() const = 0;
  virtual DType result_dtype() const = 0;
  virtual DType weights_dtype() const = 0;
  virtual DType input_dtype() const = 0;  // of images as the host sends them, and of pools in rows
  virtual bool strict() const = 0;        // nothing is tried but what was asked for

  // Stays on the card, in tiles in DRAM. Values are made only where the card has values.
  virtual DeviceTensor send_weights(const Shape& shape, DType dtype,
                                    const std::function<std::vector<float>()>& values) = 0;

  virtual void note(const std::string& text) = 0;
  // Runs `body`, which changes nothing when it fails; while it does not fit, other values leave L1. `keeps_inputs`: but
  // not its operands.
  virtual DeviceTensor fit(const Body& body, bool keeps_inputs = true) = 0;
  // As the tensors lie; if shards like these are not taken, from DRAM.
  virtual DeviceTensor near_or_far(const Body& near, const Body& far) = 0;
  // With the first of several configurations that fits: a search over the whole run's state.
  virtual DeviceTensor convolution(const ConvLayer& layer) = 0;

  // What a plan left in DRAM is read from there. Rows in L1 are gone when there are tiles.
  DeviceTensor tiles_near(const DeviceTensor& x) const {
    const DeviceTensor near = strict() && x.spec().memory_config().is_dram() ? x : to_memory_config(x, kL1MemoryConfig);
    return in_tiles(near);
  }
  DeviceTensor send_row(std::span<const float> values, DType dtype) {
    return send_weights(Shape{1, 1, 1, static_cast<std::int64_t>(values.size())}, dtype,
                        [&] { return std::vector<float>(values.begin(), values.end()); });
  }
};

}  // namespace tessera::tensix
