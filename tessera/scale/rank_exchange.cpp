#include "tessera/scale/rank_exchange.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tessera {
namespace {

class Waiting {
 public:
  explicit Waiting(double& seconds) : seconds_(seconds) {}
  ~Waiting() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

RankExchange::RankExchange(Communicator& world, SumOrder order) : world_(world), order_(order) {}
RankExchange::~RankExchange() = default;

void RankExchange::begin(std::span<const float* const> parts, std::span<float> sum) {
  Bucket& bucket = buckets_.emplace_back();
  bucket.sum = sum;
  if (order_ == SumOrder::any) {
    std::ranges::fill(sum, 0.0f);
    ncp::add_parts(parts, sum);
    bucket.underway = world_.start_sum(sum);
    // Looking in is what moves it where nobody else does.
    for (Bucket& other : buckets_)
      if (!other.underway->done()) break;
    return;
  }
  bucket.parts.assign(parts.begin(), parts.end());
  if (rank() == 0) {
    std::ranges::fill(sum, 0.0f);
    pass_on(bucket);
    return;
  }
  while (passed_ < buckets_.size()) {
    const std::optional<Communicator::Message> message = world_.poll();
    if (!message) return;
    take(message->bytes);
  }
}

// The running sum of the ranks before this one is there: adds its own parts, and sends it to the next rank.
void RankExchange::pass_on(Bucket& bucket) {
  ncp::add_parts(bucket.parts, bucket.sum);
  ++passed_;
  if (rank() + 1 == size()) return;
  const auto bytes = std::as_bytes(bucket.sum);
  world_.send(rank() + 1, Payload(bytes.begin(), bytes.end()));
}

void RankExchange::take(const Payload& running) {
  Bucket& bucket = buckets_[passed_];
  check(running.size() == bucket.sum.size_bytes(), Code::internal,
        "{} B of a running sum came from the rank before, {} B were awaited", running.size(), bucket.sum.size_bytes());
  std::memcpy(bucket.sum.data(), running.data(), running.size());
  pass_on(bucket);
}

void RankExchange::wait() {
  const Waiting waiting(waited_seconds_);
  if (order_ == SumOrder::any) {
    for (Bucket& bucket : buckets_) bucket.underway->wait();
  } else {
    while (passed_ < buckets_.size()) take(world_.receive().bytes);
    for (Bucket& bucket : buckets_) world_.broadcast(std::as_writable_bytes(bucket.sum), size() - 1);
  }
  buckets_.clear();
  passed_ = 0;
}

std::vector<std::vector<double>> RankExchange::gather(std::span<const double> mine) {
  const Waiting waiting(waited_seconds_);
  std::vector<std::vector<double>> out;
  for (const Payload& bytes : world_.all_gather(std::as_bytes(mine))) {
    std::vector<double>& numbers = out.emplace_back(bytes.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  }
  return out;
}

}  // namespace tessera
