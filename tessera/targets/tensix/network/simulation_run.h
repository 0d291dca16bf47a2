#pragma once

// What the layers of a simulated network share while it runs.

#include "tessera/core/refusal.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/network/simulated_values.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/ops/node_run.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::tensix {

// Weights and biases on the host, as conv2d takes them.
using HostOperands = std::map<const Array*, Conv2dOperand>;

struct SimulationRun {
  std::shared_ptr<Device> device;
  const LoweredGraph& network;
  const SimulateOptions& options;
  L1Recorder& recorder;
  SimulatedValues& values;
  std::vector<SimulatedStep>& steps;
  std::vector<DeviceTensor> weights = {};    // stay on the card, as the next image wants them
  SimulatedStep step = {};                   // the one that runs
  std::size_t first_record = 0;              // of the step, in the device's trace
  std::optional<Conv2dPlan> conv_plan = {};  // of the step, where it is a convolution
  std::optional<TensixCosts> costs = {};
  bool strict = false;               // nothing is tried but what was asked for
  HostOperands* operands = nullptr;  // kept from call to call; null: made for each

  // Of images as the host sends them.
  DType input_dtype() const { return is_block_float(options.dtype) ? DType::bfloat16 : options.dtype; }

  void begin(const std::string& node, const std::string& op);
  void begin(const std::string& value, MoveKind move);
  void reset(const std::string& node, const std::string& op);  // a step of which nothing has happened
  void note(const std::string& text);
  void finish(const DeviceTensor* result);  // null: nothing new on the card

  // Moves one value other than `keep` out of L1, as a step of its own. Whether there was one.
  bool make_room(std::span<const ValueId> keep, const Refusal& because);

  // Runs `body`, which calls operators as a user does and changes nothing when it is refused; while it does not fit,
  // values leave L1.
  template <class Body>
  auto try_fit(std::span<const ValueId> keep, Body&& body) {
    for (;;) {
      auto result = attempt(body);
      if (result || strict || !room_would_help(result.refusal()) || !make_room(keep, result.refusal())) return result;
    }
  }
  template <class Body>
  auto fit(std::span<const ValueId> keep, Body&& body) -> decltype(body()) {
    return try_fit(keep, body).value();
  }
  static bool room_would_help(const Refusal& refusal);

  // As the tensors lie; if shards like these are not taken, from DRAM.
  template <class Near, class Far>
  DeviceTensor near_or_far(std::span<const ValueId> keep, Near&& near, Far&& far) {
    Result<DeviceTensor> y = try_fit(keep, near);
    if (y || strict) return std::move(y).value();
    note(y.refusal().reason() + ": through DRAM");
    return fit({}, far);
  }
};

DeviceTensor run_conv(SimulationRun& run, const LoweredNode& node, const ConvLayer& layer);

}  // namespace tessera::tensix
