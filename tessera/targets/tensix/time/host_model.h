#pragma once

// What the host costs around a card: calls, queues, transfers. Constants come from the machine file.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/time/core_tracks.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::tensix {

// One operator as queues see it.
struct DeviceStep {
  std::string name = {};
  std::string op = {};
  double kernel_ns = 0;   // all of its programs together, on the cores
  int calls = 1;          // that the host makes for it, where operators are called one by one
  int programs = 1;       // a convolution with a halo is two
  int kernel_groups = 8;  // kinds of cores that run different kernels, of each program
  std::shared_ptr<const std::vector<TimedProgram>> timed = {};  // each of them, where known; otherwise all take as long
};

struct HostModel {
  // On the host.
  double call_ns = 0;     // an operator called one by one, besides its programs
  double enqueue_ns = 0;  // a program, a transfer
  double replay_ns = 0;   // a trace
  // On the dispatch cores. Programs of a network differ, so each one's kernels and arguments are sent after the one
  // before has ended, and nothing of that is hidden.
  double traced_program_ns = 0;
  double untraced_program_ns = 0;
  double kernel_group_ns = 0;  // each group but the first
  double launch_ns = 0;        // from the last program's end to the start of one that is ready
  double command_ns = 0;       // an event, a wait, the head of a transfer
  // Between them.
  double write_bytes_per_s = 0;
  double read_bytes_per_s = 0;
  double remote_write_bytes_per_s = 0;  // to a chip behind another
  double remote_read_bytes_per_s = 0;
  int chips_per_board = 1;
  int command_queues = 2;
  // What chips of one host share. 0: nothing, each is fed as if it were alone.
  double shared_link_bytes_per_s = 0;      // PCIe of a board, one direction
  double shared_ethernet_bytes_per_s = 0;  // to the chips of a board behind the first
  double shared_copy_bytes_per_s = 0;      // through the host's memory
  double chip_command_ns = 0;              // on the host: a command for each chip after the first,
  int host_threads = 1;                    // by this many at a time

  double program_ns(int kernel_groups, bool traced) const {
    return (traced ? traced_program_ns : untraced_program_ns) + kernel_group_ns * (kernel_groups - 1);
  }
  // What a command for `chips` takes longer than one for a chip alone.
  double more_chips_ns(int chips) const { return chip_command_ns * ((chips + host_threads - 1) / host_threads - 1); }
  // Chips are numbered board by board; the first of a board is the near one.
  TSR_API double write_ns(std::int64_t bytes, int chip = 0) const;
  TSR_API double read_ns(std::int64_t bytes, int chip = 0) const;
};

// Fails where the machine file lacks the figures.
TSR_API HostModel host_model(const TensixSpec& card);

// From DRAM into shards in L1 or back, as executors move a network's input and output: bound by DRAM.
TSR_API double dram_move_ns(const TensixSpec& card, std::int64_t bytes);

// What a trace of these steps takes of the trace region: commands and arguments for every core.
TSR_API std::int64_t trace_bytes(const DeviceStep& step, int cores);

}  // namespace tessera::tensix
