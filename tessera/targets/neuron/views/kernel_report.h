#pragma once

// What a run of a kernel came to, for people: its profile, the longest chain, what was moved, what would help. One
// model; tables, Markdown, CSV, JSON and a page are its forms. Times are simulated.

#include "tessera/core/export.h"
#include "tessera/report/table.h"
#include "tessera/target/view.h"
#include "tessera/targets/neuron/views/kernel_advice.h"
#include "tessera/targets/neuron/views/longest_chain.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::neuron {

struct KernelReport {
  std::string title;
  Profile profile;
  std::vector<std::pair<std::string, double>> more;  // keys and values behind those of the profile
  LongestChain chain;
  std::vector<TensorTraffic> tensors;  // those that were moved
  std::vector<KernelAdvice> advice;
};

TSR_API KernelReport kernel_report(const Kernel& kernel, std::string title);

TSR_API Table profile_table(const KernelReport& report);
// The longest chain, tensors and advice. `links`: so many of the chain for people; 0: all of them.
TSR_API tessera::View explanation(const KernelReport& report, std::size_t links = 12);
// A page that stands alone: engines and DMA over the whole run, its beginning task by task, and all of the above.
TSR_API std::string kernel_page(const Kernel& kernel, const KernelReport& report, double first_us = 25);

// Trace events, or a page. Both replace a file whole or not at all.
TSR_API void write_kernel_trace(const Kernel& kernel, std::string_view title, const std::filesystem::path& path);
TSR_API void write_kernel_page(const Kernel& kernel, const KernelReport& report, const std::filesystem::path& path);

}  // namespace tessera::neuron
