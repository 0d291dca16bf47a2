#include "tessera/scale/thread_share.h"

#include "tessera/core/parallel_for.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace tessera {
namespace {

std::vector<int> own_cpus() {
  std::vector<int> out;
#if defined(__linux__)
  for (std::size_t cpus = 1024; cpus <= 1u << 20; cpus *= 2) {  // the kernel refuses masks smaller than its own
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    for (std::size_t cpu = 0; ok && cpu < cpus; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set)) out.push_back(static_cast<int>(cpu));
    CPU_FREE(set);
    if (ok) break;
  }
#endif
  return out;
}

}  // namespace

int share_of_cpus(const std::vector<RankCpus>& ranks, int rank) {
  const RankCpus& own = ranks[static_cast<std::size_t>(rank)];
  std::map<int, int> users;
  for (const RankCpus& other : ranks)
    if (other.host == own.host)
      for (const int cpu : other.cpus) ++users[cpu];
  double share = 0;
  for (const int cpu : own.cpus) share += 1.0 / users[cpu];
  return std::max(1, static_cast<int>(share + 1e-6));  // thirds add up to one
}

int share_of_threads(Communicator& world) {
  const std::vector<int> mine = own_cpus();
  const std::vector<Payload> all = world.all_gather(std::as_bytes(std::span(mine)));
  std::vector<RankCpus> ranks;
  for (int rank = 0; rank < world.size(); ++rank) {
    const Payload& bytes = all[static_cast<std::size_t>(rank)];
    RankCpus& to = ranks.emplace_back(RankCpus{world.host(rank), std::vector<int>(bytes.size() / sizeof(int))});
    std::memcpy(to.cpus.data(), bytes.data(), to.cpus.size() * sizeof(int));
  }
  if (mine.empty()) return hardware_threads();
  // A quota is the host's, like its CPUs.
  const double of_quota = static_cast<double>(hardware_threads()) / static_cast<double>(mine.size());
  return std::max(1, static_cast<int>(share_of_cpus(ranks, world.rank()) * std::min(1.0, of_quota) + 1e-6));
}

}  // namespace tessera
