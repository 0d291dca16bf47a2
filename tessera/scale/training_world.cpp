#include "tessera/scale/training_world.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/isa.h"
#include "tessera/report/units.h"
#include "tessera/scale/thread_share.h"
#include "tessera/scale/training_agreement.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr std::uint64_t kLargestSharedFile = std::uint64_t{64} << 30;

}  // namespace

TrainingWorld::TrainingWorld(Communicator& all, std::string_view version, bool deterministic, int threads) : all_(all) {
  must_agree(all_, "the version", std::string(version));
  must_agree(all_, "the instruction set (TESSERA_ISA sets it)", name(active_isa()));
  must_agree(all_, "--deterministic", deterministic ? "it" : "not");
  if (all_.size() > 1) exchange_.emplace(all_, deterministic ? SumOrder::as_one_rank : SumOrder::any);
  const int share = all_.size() > 1 ? share_of_threads(all_) : 0;
  // What was asked for counts more.
  limit_.emplace(threads > 0 || max_threads() != hardware_threads() ? threads : share);
}

Payload TrainingWorld::share_file(const std::filesystem::path& path) {
  Payload bytes;
  together(all_, [&] {
    if (first() && std::filesystem::exists(path)) bytes = read_file(path, kLargestSharedFile);
  });
  return broadcast_bytes(all_, std::move(bytes), 0);
}

void TrainingWorld::check_agreement(const ncp::Layer& layer, const ncp::TrainingOptions& options,
                                    const ncp::Task& task) {
  must_agree_to_train(all_, layer, options, datasets_of(task));
}

std::uint8_t TrainingWorld::agreed(std::uint8_t mine) {
  all_.broadcast(std::as_writable_bytes(std::span(&mine, 1)), 0);
  return mine;
}

std::string TrainingWorld::closing_text(double seconds, std::int64_t samples) {
  if (!exchange_) return {};
  const double mine[] = {exchange_->waited_seconds(), static_cast<double>(max_threads())};
  const std::vector<std::vector<double>> found = exchange_->gather(mine);
  seconds = std::max(seconds, 1e-9);
  double busy = 0;
  std::string each;
  for (int rank = 0; rank < all_.size(); ++rank) {
    const std::vector<double>& of = found[static_cast<std::size_t>(rank)];
    busy += std::max(0.0, seconds - of[0]);
    each += fmt::format("  {}: {:.0f} thread{}, waited {}\n", rank_text(all_, rank), of[1], of[1] == 1 ? "" : "s",
                        format_time(of[0] * 1e9));
  }
  return fmt::format("{} ranks: {:.0f} samples/s in {} measured; they computed {:.1f} % of that time\n{}", all_.size(),
                     static_cast<double>(samples) / seconds, format_time(seconds * 1e9),
                     100 * busy / (seconds * all_.size()), each);
}

}  // namespace tessera
