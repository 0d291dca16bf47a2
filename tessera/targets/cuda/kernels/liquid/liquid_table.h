#pragma once

// What the tables of CfC and LTC kernels share.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::cuda {

// Of products. Everything else is float32.
enum class LiquidPrecision : std::uint8_t {
  tf32,  // operands rounded to 11 bits, sums in float32: tensor cores
  f32,
};
TSR_API std::string_view name(LiquidPrecision precision);

enum class LiquidBound : std::uint8_t { shared_memory, l2, arithmetic, latency };
TSR_API std::string_view name(LiquidBound bound);

// Blocks of a cluster that kernels can be launched with.
inline constexpr int kLiquidClusters[] = {1, 2, 4, 8};

// Clusters that the device runs at a time, one block on each multiprocessor.
int resident_clusters(int cluster, const GpuSpec& gpu);

int quotient_rounded_up(std::int64_t a, std::int64_t b);
// The least power of two that is no less, as an exponent.
int exponent_of_two(int at_least);

// How a row would do it.
struct LiquidOffer {
  int cluster = 1;       // blocks that share the units
  bool resident = true;  // weights or synapses in shared memory; else read from L2 every time
  int blocks = 0;
  int shared_bytes = 0;
  double seconds = 0;
  LiquidBound bound = LiquidBound::latency;
};

// The fastest row of a table, and why it is not another.
template <class Row, class Refusal>
struct LiquidPlan {
  struct Refused {
    const Row* row;
    Refusal refusal;
  };
  struct Slower {
    const Row* row;
    double seconds;
  };
  const Row* row = nullptr;  // null: every row refused
  LiquidOffer offer;
  std::vector<Refused> refused;
  std::vector<Slower> slower;

  void weigh(const Row& other, const std::variant<LiquidOffer, Refusal>& answer) {
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
      refused.push_back({&other, *refusal});
      return;
    }
    const LiquidOffer& offered = std::get<LiquidOffer>(answer);
    if (row != nullptr && offered.seconds >= offer.seconds) {
      slower.push_back({&other, offered.seconds});
      return;
    }
    if (row != nullptr) slower.push_back({row, offer.seconds});
    row = &other;
    offer = offered;
  }
};

}  // namespace tessera::cuda
