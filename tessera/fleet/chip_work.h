#pragma once

// What one chip of a fleet does, from a simulated run of it.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/target/simulation.h"
#include "tessera/targets/tensix/time/card_work.h"
#include "tessera/targets/tensix/time/pipeline.h"

namespace tessera::fleet {

using ChipWork = tensix::CardWork;

// An Error for machines that fleets are not made of.
inline const ChipWork& chip_work(const DeviceWork& work) { return tensix::card_work_of(work); }

inline int chips_of_a_card(const Machine& machine) { return tensix_of(machine).chips; }

// How each chip is run again and again.
struct ChipQueues {
  bool metal_trace = false;
  int command_queues = 1;
  bool separate_transfers = false;
};
inline tensix::Executor chip_executor(const ChipQueues& queues) {
  return tensix::executor_of({.use_trace = queues.metal_trace,
                              .num_command_queues = queues.command_queues,
                              .all_transfers_on_separate_command_queue = queues.separate_transfers});
}

}  // namespace tessera::fleet
