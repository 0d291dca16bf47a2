#include "tessera/ncp/internal/shared_losses.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::ncp {
namespace {

constexpr std::size_t kNumbersOfItem = 4;  // sample, loss, rows, correct

void add_sums(LossSums& to, const LossSums& more) {
  to.loss += more.loss;
  to.rows += more.rows;
  to.correct += more.correct;
}

// FNV-1a over words, in what a double holds exactly.
double digest_of(const ParameterSet<float>& parameters) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Parameter<float>& item : parameters.items)
    for (const float value : item.values) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3u;
  return static_cast<double>(hash >> 11);
}

}  // namespace

void SampleLosses::add(std::int64_t sample, const LossSums& sums) { items_.push_back({first_ + sample, sums}); }

TotalLoss SampleLosses::total(GradientExchange* exchange) const {
  TotalLoss out;
  std::vector<Item> all = items_;
  if (exchange != nullptr) {
    std::vector<double> mine;
    const auto put = [&](const Item& item) {
      mine.insert(mine.end(), {static_cast<double>(item.sample), item.sums.loss, static_cast<double>(item.sums.rows),
                               item.sums.correct});
    };
    if (exchange->in_order()) {
      for (const Item& item : items_) put(item);
    } else {
      Item sum{.sample = exchange->rank()};
      for (const Item& item : items_) add_sums(sum.sums, item.sums);
      put(sum);
    }
    all.clear();
    const std::vector<std::vector<double>> found = exchange->gather(mine);
    for (std::size_t rank = 0; rank < found.size(); ++rank)
      for (std::size_t i = 0; i + kNumbersOfItem <= found[rank].size(); i += kNumbersOfItem) {
        const double* from = found[rank].data() + i;
        all.push_back({static_cast<std::int64_t>(from[0]), {from[1], static_cast<std::int64_t>(from[2]), from[3]}});
        if (!std::isfinite(from[1]) && out.not_finite_at < 0) out.not_finite_at = static_cast<int>(rank);
      }
  }
  std::ranges::stable_sort(all, {}, &Item::sample);
  for (const Item& item : all) add_sums(out.sums, item.sums);
  return out;
}

void check_same_everywhere(GradientExchange& exchange, const ParameterSet<float>& parameters, std::int64_t epoch) {
  const double mine = digest_of(parameters);
  const std::vector<std::vector<double>> all = exchange.gather(std::span(&mine, 1));
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    check(all[rank] == all[0], Code::internal, Hint{"train with --deterministic, or on processors of one kind"},
          "after epoch {} {} has other parameters than {}", epoch, exchange.who(static_cast<int>(rank)),
          exchange.who(0));
}

}  // namespace tessera::ncp
