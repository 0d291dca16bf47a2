#pragma once

// The values of a network that are on the card now, and how much longer each is needed.

#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/l1_timeline.h"
#include "tessera/targets/tensix/network/lower.h"

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::tensix {

class SimulatedValues {
 public:
  SimulatedValues(const LoweredGraph& network, L1Recorder& recorder);

  const DeviceTensor& at(ValueId id) const;
  bool on_card(ValueId id) const { return tensors_[static_cast<std::size_t>(id)].has_value(); }
  void put(ValueId id, DeviceTensor tensor);
  void slide(ValueId id);  // to an address that suits it better now
  // Values that live on the host: what HostLayers make and the card cannot hold.
  void put_on_host(ValueId id, Array array);
  const Array* on_host(ValueId id) const;

  // Which node runs now.
  void begin(std::size_t node) { now_ = node; }
  // Lets go of what no later node reads.
  void end();
  // Lets go of one that no later node may read.
  void free(ValueId id);
  bool is_last_use(ValueId id) const { return next_use(id) == kNever; }
  // The last use of memory that no other value shares: an operator may free or overwrite it.
  bool may_consume(ValueId id) const;

  struct Spilled {
    std::string name;
    std::string next;  // who reads it
    std::int64_t bytes_per_core = 0;
  };
  // Moves the value in L1 that is needed last, other than `keep`, to DRAM. None: there is none.
  std::optional<Spilled> spill(std::span<const ValueId> keep);

 private:
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kAtTheEnd = kNever - 1;  // an output of the network

  std::size_t next_use(ValueId id) const;

  const LoweredGraph& network_;
  L1Recorder& recorder_;
  std::vector<std::optional<DeviceTensor>> tensors_;
  std::vector<std::optional<Array>> arrays_;
  std::vector<std::vector<std::size_t>> uses_;
  std::size_t now_ = 0;
};

}  // namespace tessera::tensix
