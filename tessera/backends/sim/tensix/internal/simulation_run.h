#pragma once

// What the layers of a simulated network share while it runs.

#include "tessera/backends/sim/tensix/conv2d.h"
#include "tessera/backends/sim/tensix/internal/simulated_values.h"
#include "tessera/backends/sim/tensix/simulate.h"
#include "tessera/core/error.h"

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

  void begin(const std::string& node, const std::string& op);
  void note(const std::string& text);
  void finish(const DeviceTensor* result);  // null: nothing new on the card

  // Moves one value other than `keep` out of L1, as a step of its own. Whether there was one.
  bool make_room(std::span<const ValueId> keep, const Error& because);

  // Runs `body`, which changes nothing when it fails; while it does not fit, values leave L1.
  template <class Body>
  auto fit(std::span<const ValueId> keep, Body&& body) -> decltype(body()) {
    if (strict) return body();
    for (;;) {
      try {
        return body();
      } catch (const Error& error) {
        if (!room_would_help(error) || !make_room(keep, error)) throw;
      }
    }
  }
  static bool room_would_help(const Error& error);
};

// The first line of an Error, without its numbers' context.
std::string reason_of(const Error& error);

DeviceTensor run_conv(SimulationRun& run, const LoweredNode& node, const ConvLayer& layer);

}  // namespace tessera::tensix
