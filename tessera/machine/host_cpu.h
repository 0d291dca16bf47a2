#pragma once

// The CPU that this process runs on, and the machine file that describes it: the group [match] of machine files says
// which. A new machine is a new file; nothing here names one.

#include "tessera/core/export.h"
#include "tessera/core/isa.h"
#include "tessera/machine/machine.h"

#include <optional>
#include <string>

namespace tessera {

// What a host tells of itself.
struct HostCpu {
  std::string vendor;  // "GenuineIntel"; empty where there is no cpuid
  int family = 0;      // base and extended family added up
  int model = 0;       // extended and base model put together
  Isa isa = Isa::portable;
};

// This host, for kernels of at most this instruction set.
TSR_API HostCpu host_cpu(Isa isa);

TSR_API bool matches(const HostMatch& match, const HostCpu& host);

// Of all machine files whose [match] holds, the one with the highest priority; of equals, the first by name. None: no
// file matches. A file with a [match] that cannot be read is an Error.
TSR_API std::optional<Machine> match_machine(const HostCpu& host);

}  // namespace tessera
