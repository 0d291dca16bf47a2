#pragma once

// What ranks that train together tell each other (ncp/gradient_exchange.h), over a communicator.

#include "tessera/core/export.h"
#include "tessera/ncp/gradient_exchange.h"
#include "tessera/scale/communicator.h"

#include <deque>
#include <memory>
#include <vector>

namespace tessera {

enum class SumOrder {
  any,         // the communicator's own sums
  as_one_rank  // a running sum goes from the first rank to the last, which tells all: the bits of one process
};

class TSR_API RankExchange final : public ncp::GradientExchange {
 public:
  RankExchange(Communicator& world, SumOrder order);
  ~RankExchange() override;

  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  std::string who(int rank) const override { return rank_text(world_, rank); }
  bool in_order() const override { return order_ == SumOrder::as_one_rank; }
  void begin(std::span<const float* const> parts, std::span<float> sum) override;
  void wait() override;
  std::vector<std::vector<double>> gather(std::span<const double> mine) override;

  double waited_seconds() const { return waited_seconds_; }  // in wait() and gather(), since it was made

 private:
  struct Bucket {
    std::vector<const float*> parts{};
    std::span<float> sum{};
    std::unique_ptr<Communicator::Sum> underway{};
  };

  void pass_on(Bucket& bucket);
  void take(const Payload& running);

  Communicator& world_;
  SumOrder order_;
  std::deque<Bucket> buckets_{};
  std::size_t passed_ = 0;  // of the buckets, in order
  double waited_seconds_ = 0;
};

}  // namespace tessera
