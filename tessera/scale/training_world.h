#pragma once

// Processes that train one layer together: what they have to agree on, what the first one decides for all, and what
// they have done.

#include "tessera/core/export.h"
#include "tessera/core/parallel_for.h"
#include "tessera/ncp/tasks/task.h"
#include "tessera/scale/rank_exchange.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

class TSR_API TrainingWorld {
 public:
  // An Error everywhere unless all are of one version. `threads` 0: this rank's share of the CPUs.
  TrainingWorld(Communicator& all, std::string_view version, bool deterministic, int threads);

  Communicator& all() { return all_; }
  bool first() const { return all_.rank() == 0; }
  ncp::GradientExchange* exchange() { return exchange_ ? &*exchange_ : nullptr; }

  // The file as the first rank has it; empty: it is not there. Any failure is the failure of all.
  Payload share_file(const std::filesystem::path& path);
  // An Error everywhere unless all have the same layer, options and data.
  void check_agreement(const ncp::Layer& layer, const ncp::TrainingOptions& options, const ncp::Task& task);
  // What the first one says; clocks differ.
  std::uint8_t agreed(std::uint8_t mine);
  // Of `seconds` of training with so many samples; empty for one rank. All call it.
  std::string closing_text(double seconds, std::int64_t samples);

 private:
  Communicator& all_;
  std::optional<RankExchange> exchange_;
  std::optional<ThreadLimit> limit_;
};

}  // namespace tessera
