#pragma once

// Who else used the machine's processors while something was measured: times on a machine that is not quiet mean
// little.

#include "tessera/core/export.h"

#include <optional>
#include <string_view>

namespace tessera {

// Seconds of all CPUs together, as /proc/stat counts them.
struct CpuTimes {
  double busy = 0;    // user, system and interrupts, without what guests of ours took
  double stolen = 0;  // another machine on the same host ran instead
};

// The first line of /proc/stat; nothing if it is no such line. `ticks_per_s` is the kernel's unit, usually 100.
TSR_API std::optional<CpuTimes> parse_cpu_times(std::string_view stat, double ticks_per_s);

// Fractions of the time of one CPU: 0.5 is half a CPU for as long as was watched.
struct MachineLoad {
  double others = 0;  // other processes
  double stolen = 0;
};

// From its construction on. Nothing where the system does not tell.
class TSR_API LoadWatch {
 public:
  LoadWatch();
  std::optional<MachineLoad> load() const;

 private:
  std::optional<CpuTimes> cpus_;
  double own_s_ = 0;  // CPU time of this process
  double wall_s_ = 0;
};

}  // namespace tessera
