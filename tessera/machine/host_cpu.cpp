#include "tessera/machine/host_cpu.h"

#include "tessera/core/file.h"
#include "tessera/machine/internal/machine_path.h"
#include "tessera/machine/machine_file.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstring>
#include <utility>

namespace tessera {
namespace {

// Most files are of other families. Reading one costs far less than taking it apart.
bool may_match(const std::filesystem::path& path) {
  return read_text_file(path, internal::kMachineFileBytes).find("match") != std::string::npos;
}

}  // namespace

HostCpu host_cpu(Isa isa) {
  HostCpu host;
  host.isa = isa;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return host;
  const unsigned letters[] = {b, d, c};
  host.vendor.assign(reinterpret_cast<const char*>(letters), sizeof letters);
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return host;
  const unsigned family = a >> 8 & 0xf, model = a >> 4 & 0xf;
  const bool extended = family == 0xf || family == 6;  // families 6 and 15 and above have models of two digits
  host.family = static_cast<int>(family == 0xf ? family + (a >> 20 & 0xff) : family);
  host.model = static_cast<int>(extended ? model + ((a >> 16 & 0xf) << 4) : model);
#endif
  return host;
}

bool matches(const HostMatch& match, const HostCpu& host) {
  if (match.vendor && *match.vendor != host.vendor) return false;
  if (match.family && *match.family != host.family) return false;
  if (match.isa && host.isa < *match.isa) return false;
  return match.models.empty() || std::ranges::any_of(match.models, [&](const IntRange& range) {
           return range.first <= host.model && host.model <= range.last;
         });
}

std::optional<Machine> match_machine(const HostCpu& host) {
  std::optional<Machine> best;
  for (const std::string& name : machine_names()) {
    const std::optional<std::filesystem::path> path = internal::machine_path(name);
    if (!path || !may_match(*path)) continue;
    Machine machine = load_machine_file(*path);
    if (!machine.cpu || !machine.cpu->match || !matches(*machine.cpu->match, host)) continue;
    if (!best || machine.cpu->match->priority > best->cpu->match->priority) best = std::move(machine);
  }
  return best;
}

}  // namespace tessera
