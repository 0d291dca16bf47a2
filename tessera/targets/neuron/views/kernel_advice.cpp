#include "tessera/targets/neuron/views/kernel_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tessera::neuron {
namespace {

// A twentieth of the chain is worth a word.
constexpr double kWorthAWord = 0.05;
// A tensor that is loaded this much more often than it is long.
constexpr double kTooOften = 1.5;
constexpr std::int64_t kShortCopyBytes = 64 << 10;  // on 16 engines, what takes about as long as its fixed costs

double mb(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

double share_of(const LongestChain& chain, std::initializer_list<std::string_view> engines) {
  double ns = 0;
  for (const ChainShare& each : chain.engines)
    if (std::find(engines.begin(), engines.end(), each.engine) != engines.end()) ns += each.ns;
  return chain.ns > 0 ? ns / chain.ns : 0;
}

double share_of_op(const LongestChain& chain, std::string_view engine, std::string_view op) {
  double ns = 0;
  for (const ChainLink& each : chain.links)
    if (each.engine == engine && each.op == op) ns += each.ns;
  return chain.ns > 0 ? ns / chain.ns : 0;
}

void advise_on_copies(const Profile& profile, const LongestChain& chain, std::span<const TensorTraffic> tensors,
                      std::vector<KernelAdvice>& out) {
  const double copies = share_of(chain, {"dma", "dma queue"});
  if (copies < kWorthAWord) return;
  std::vector<const TensorTraffic*> often;
  for (const TensorTraffic& each : tensors)
    if (static_cast<double>(each.loaded_bytes) > kTooOften * static_cast<double>(each.bytes)) often.push_back(&each);
  std::sort(often.begin(), often.end(),
            [](const TensorTraffic* a, const TensorTraffic* b) { return a->loaded_bytes > b->loaded_bytes; });
  for (const TensorTraffic* each : often) {
    if (each->stores > 0) {
      out.push_back({fmt::format("fuse what writes {} with what reads it", each->name),
                     fmt::format("{:.1f} MB of it are stored to HBM and {:.1f} MB loaded again: a tile that stays in "
                                 "SBUF or PSUM needs neither",
                                 mb(each->stored_bytes), mb(each->loaded_bytes))});
      continue;
    }
    const double again = static_cast<double>(each->loads) / static_cast<double>(each->distinct_loads);
    if (again > kTooOften)
      out.push_back({fmt::format("hoist the loads of {} out of a loop, or reorder the loops", each->name),
                     fmt::format("each part of it is loaded {:.1f} times: {:.1f} MB in all, of which {:.1f} MB differ",
                                 again, mb(each->loaded_bytes), mb(each->distinct_bytes))});
    if (static_cast<double>(each->distinct_bytes) > kTooOften * static_cast<double>(each->bytes))
      out.push_back({fmt::format("keep rows of {} with their halo in SBUF", each->name),
                     fmt::format("its loads overlap: {:.1f} MB are loaded of a tensor of {:.1f} MB; load rows once and "
                                 "cut windows from them",
                                 mb(each->distinct_bytes), mb(each->bytes))});
  }
  if (profile.dma_transfer_count > 16 &&
      profile.dma_transfer_total_bytes / profile.dma_transfer_count < kShortCopyBytes)
    out.push_back({"copy more at a time",
                   fmt::format("{} copies of {:.0f} bytes on average: each costs an issue and a latency, however short",
                               profile.dma_transfer_count,
                               static_cast<double>(profile.dma_transfer_total_bytes) /
                                   static_cast<double>(profile.dma_transfer_count))});
}

void advise_on_engines(const Profile& profile, const LongestChain& chain, std::vector<KernelAdvice>& out) {
  const double tensor = share_of(chain, {"tensor"});
  if (tensor >= kWorthAWord && profile.float32_matmul_count > 0)
    out.push_back({"multiply 16-bit operands, if the values allow it",
                   fmt::format("{} of {} products are float32, which the PE array takes in four passes",
                               profile.float32_matmul_count, profile.matmul_count)});
  if (share_of_op(chain, "tensor", "transpose") >= kWorthAWord)
    out.push_back({"turn weights once, or have them turned in HBM",
                   fmt::format("{} transposes are {:.0f} % of the longest chain", profile.transpose_count,
                               100 * share_of_op(chain, "tensor", "transpose"))});
  for (const std::string_view engine : {"vector", "scalar", "gpsimd"}) {
    const double share = share_of(chain, {engine});
    if (share < 0.3) continue;
    const ChainLink* most = nullptr;
    for (const ChainLink& each : chain.links)
      if (each.engine == engine && (most == nullptr || each.ns > most->ns)) most = &each;
    std::string other;
    for (const auto& [name, use] : {std::pair<std::string_view, const EngineUse*>{"vector", &profile.vector},
                                    {"scalar", &profile.scalar},
                                    {"gpsimd", &profile.gpsimd}})
      if (name != engine && use->active_ns < 0.5 * chain.ns)
        other +=
            fmt::format("{}{} ({:.0f} % busy)", other.empty() ? "" : " or ", name, 100 * use->active_ns / chain.ns);
    if (most->op == "copy")
      out.push_back({"let the PE array read windows where they lie, or copy each once",
                     fmt::format("copies by {} at {} are {:.0f} % of the longest chain", engine, most->line,
                                 100 * most->ns / chain.ns)});
    if (!other.empty())
      out.push_back({fmt::format("give some of what {} does to {}", engine, other),
                     fmt::format("{} is {:.0f} % of the longest chain, most of it {} at {}", engine, 100 * share,
                                 most->op, most->line)});
  }
  if (share_of(chain, {"latency"}) >= 0.25)
    out.push_back({"let turns of a loop overlap: more tiles at a time, or larger instructions",
                   fmt::format("{:.0f} % of the longest chain is spent waiting for results on their way",
                               100 * share_of(chain, {"latency"}))});
}

}  // namespace

std::vector<KernelAdvice> kernel_advice(const Profile& profile, const LongestChain& chain,
                                        std::span<const TensorTraffic> tensors) {
  std::vector<KernelAdvice> out;
  const bool copies_first =
      share_of(chain, {"dma", "dma queue"}) > share_of(chain, {"tensor", "vector", "scalar", "gpsimd"});
  if (copies_first) advise_on_copies(profile, chain, tensors, out);
  advise_on_engines(profile, chain, out);
  if (!copies_first) advise_on_copies(profile, chain, tensors, out);
  return out;
}

}  // namespace tessera::neuron
