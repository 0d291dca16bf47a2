#include "tessera/fleet/serving.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace tessera::fleet {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Serving {
 public:
  explicit Serving(const ServingOptions& options) : o_(options), arrivals_(options.seed), others_(~options.seed) {
    chips_.resize(static_cast<std::size_t>(o_.chips));
    for (std::size_t i = chips_.size(); i-- > 0;) set_idle(static_cast<std::int32_t>(i));
    spares_ = o_.spares;
    times_.reserve(static_cast<std::size_t>(o_.requests));
    measured_from_ = static_cast<std::int64_t>(o_.warm_up * static_cast<double>(o_.requests));
  }

  ServingResult run() {
    next_arrival_ = random_time(arrivals_, 1e9 / o_.requests_per_s);
    schedule_failure();
    while (out_.completed < o_.requests) {
      const double deadline = !idle_.empty() && !waiting_.empty() ? oldest() + o_.max_wait_ns : kNever;
      const double free = ends_.empty() ? kNever : ends_.top().at;
      const double back = returns_.empty() ? kNever : returns_.top().first;
      const double next = std::min({next_arrival_, deadline, free, back, next_failure_});
      check(next < kNever, Code::internal, "{} of {} requests are served and nothing is left to happen", out_.completed,
            o_.requests);
      advance(std::max(next, now_));
      if (next == free)
        finish_batch();
      else if (next == back)
        return_chip();
      else if (next == next_failure_)
        fail_chip();
      else if (next == next_arrival_)
        arrive();
      start_batches();
    }
    return result();
  }

 private:
  enum class State : std::uint8_t { idle, busy, down };
  struct Chip {
    State state = State::idle;
    std::uint32_t round = 0;  // tells an end that was cancelled from one that counts
    std::size_t idle_at = 0;  // in idle_
    double results_ns = 0;
    std::vector<double> batch;  // arrivals of the requests it works on
  };
  struct End {
    double at;
    std::int32_t chip;
    std::uint32_t round;
    bool operator>(const End& other) const { return at > other.at; }
  };

  static double random_time(std::mt19937_64& generator, double mean_ns) {
    const double uniform = static_cast<double>(generator() >> 11) * 0x1p-53;  // [0, 1)
    return -std::log1p(-uniform) * mean_ns;
  }
  Chip& chip(std::int32_t id) { return chips_[static_cast<std::size_t>(id)]; }
  double oldest() const { return waiting_.front(); }
  bool measuring() const { return out_.arrived > measured_from_ && out_.arrived < o_.requests; }

  void advance(double to) {
    if (measuring()) {
      const double ns = to - now_;
      queue_area_ += ns * static_cast<double>(waiting_.size());
      busy_area_ += ns * static_cast<double>(busy_);
      up_area_ += ns * static_cast<double>(o_.chips - down_);
      measured_ns_ += ns;
    }
    now_ = to;
  }

  void set_idle(std::int32_t id) {
    chip(id).state = State::idle;
    chip(id).idle_at = idle_.size();
    idle_.push_back(id);
  }
  void take_from_idle(std::int32_t id) {
    const std::size_t at = chip(id).idle_at;
    idle_[at] = idle_.back();
    chip(idle_[at]).idle_at = at;
    idle_.pop_back();
  }

  void arrive() {
    waiting_.push_back(now_);
    ++out_.arrived;
    if (measuring()) ++measured_arrivals_;
    out_.max_queue = std::max(out_.max_queue, static_cast<double>(waiting_.size()));
    next_arrival_ = out_.arrived < o_.requests ? now_ + random_time(arrivals_, 1e9 / o_.requests_per_s) : kNever;
  }

  void start_batches() {
    // Nobody comes after the last one, so that what is left does not wait for company.
    while (!idle_.empty() && !waiting_.empty() &&
           (static_cast<std::int64_t>(waiting_.size()) >= o_.max_batch || now_ >= oldest() + o_.max_wait_ns ||
            next_arrival_ == kNever)) {
      const std::int32_t id = idle_.back();
      take_from_idle(id);
      Chip& c = chip(id);
      c.state = State::busy;
      ++busy_;
      const std::size_t count = std::min(waiting_.size(), static_cast<std::size_t>(o_.max_batch));
      c.batch.assign(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
      if (measuring()) {
        for (const double arrived : c.batch) wait_sum_ += now_ - arrived;
        waits_ += static_cast<std::int64_t>(count);
        ++measured_batches_;
      }
      ++out_.batches;
      const double interval = o_.service == Service::fixed ? o_.interval_ns : random_time(others_, o_.interval_ns);
      c.results_ns = now_ + interval + (o_.latency_ns - o_.interval_ns);
      ends_.push({now_ + interval, id, c.round});
    }
  }

  void finish_batch() {
    const End end = ends_.top();
    ends_.pop();
    Chip& c = chip(end.chip);
    if (c.round != end.round) return;  // it failed meanwhile
    ++c.round;
    for (const double arrived : c.batch) {
      if (out_.completed++ >= measured_from_) times_.push_back(c.results_ns - arrived);
    }
    c.batch.clear();
    --busy_;
    set_idle(end.chip);
  }

  // Without memory, so that a new draw after each change is as good as one for each chip.
  void schedule_failure() {
    const auto up = static_cast<double>(o_.chips - down_);
    next_failure_ =
        o_.failures_per_s > 0 && up > 0 ? now_ + random_time(others_, 1e9 / (o_.failures_per_s * up)) : kNever;
  }

  void fail_chip() {
    std::int32_t id = 0;
    do id = static_cast<std::int32_t>(others_() % static_cast<std::uint64_t>(o_.chips));
    while (chip(id).state == State::down);
    Chip& c = chip(id);
    ++out_.failures;
    if (c.state == State::idle) take_from_idle(id);
    if (c.state == State::busy) {
      --busy_;
      ++c.round;
      out_.restarted += static_cast<std::int64_t>(c.batch.size());
      waiting_.insert(waiting_.begin(), c.batch.begin(), c.batch.end());
      c.batch.clear();
    }
    c.state = State::down;
    ++down_;
    const double repaired = now_ + o_.repair_s * 1e9;
    if (spares_ > 0) {
      --spares_;
      returns_.emplace(now_ + o_.takeover_s * 1e9, id);
      returns_.emplace(repaired, kToSpares);
    } else {
      returns_.emplace(repaired, id);
    }
    schedule_failure();
  }

  void return_chip() {
    const std::int32_t id = returns_.top().second;
    returns_.pop();
    if (id == kToSpares) {
      ++spares_;
      return;
    }
    --down_;
    set_idle(id);
    schedule_failure();
  }

  ServingResult result() {
    std::sort(times_.begin(), times_.end());
    const auto at = [&](double q) {
      if (times_.empty()) return 0.0;
      const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(times_.size())));
      return times_[std::clamp<std::size_t>(rank, 1, times_.size()) - 1];
    };
    double sum = 0;
    for (const double ns : times_) sum += ns;
    out_.mean_ns = times_.empty() ? 0 : sum / static_cast<double>(times_.size());
    out_.p50_ns = at(0.50);
    out_.p95_ns = at(0.95);
    out_.p99_ns = at(0.99);
    out_.p999_ns = at(0.999);
    out_.max_ns = at(1);
    out_.mean_wait_ns = waits_ > 0 ? wait_sum_ / static_cast<double>(waits_) : 0;
    out_.mean_batch = static_cast<double>(waits_) / static_cast<double>(std::max<std::int64_t>(1, measured_batches_));
    if (measured_ns_ > 0) {
      out_.mean_queue = queue_area_ / measured_ns_;
      out_.utilization = up_area_ > 0 ? busy_area_ / up_area_ : 0;
      out_.available = up_area_ / measured_ns_ / static_cast<double>(o_.chips);
      out_.completed_per_s = static_cast<double>(measured_arrivals_) / measured_ns_ * 1e9;
    }
    out_.simulated_s = now_ * 1e-9;
    return out_;
  }

  static constexpr std::int32_t kToSpares = -1;

  const ServingOptions& o_;
  std::mt19937_64 arrivals_, others_;
  std::vector<Chip> chips_;
  std::vector<std::int32_t> idle_;
  std::deque<double> waiting_;  // arrivals, the oldest first
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  using Return = std::pair<double, std::int32_t>;
  std::priority_queue<Return, std::vector<Return>, std::greater<>> returns_;
  double now_ = 0, next_arrival_ = 0, next_failure_ = kNever;
  std::int64_t busy_ = 0, down_ = 0, spares_ = 0, measured_from_ = 0, measured_arrivals_ = 0, measured_batches_ = 0,
               waits_ = 0;
  double queue_area_ = 0, busy_area_ = 0, up_area_ = 0, measured_ns_ = 0, wait_sum_ = 0;
  std::vector<double> times_;
  ServingResult out_;
};

}  // namespace

double capacity_per_s(const ServingOptions& o) {
  return static_cast<double>(o.chips * o.max_batch) / o.interval_ns * 1e9;
}

std::int64_t enough_requests(std::int64_t chips, std::int64_t max_batch) {
  constexpr std::int64_t kLeast = 200'000, kMost = 20'000'000, kBatches = 24;
  return std::clamp(chips * max_batch * kBatches, kLeast, kMost);
}

ServingResult simulate_serving(const ServingOptions& o) {
  check(o.chips >= 1 && o.chips <= std::numeric_limits<std::int32_t>::max() && o.max_batch >= 1 && o.requests >= 1,
        Code::invalid_argument, "{} requests in batches of {} on {} chips", o.requests, o.max_batch, o.chips);
  check(o.interval_ns > 0 && o.latency_ns >= o.interval_ns && std::isfinite(o.latency_ns), Code::invalid_argument,
        "a chip takes a batch every {} ns and needs {} ns for it", o.interval_ns, o.latency_ns);
  check(
      o.requests_per_s > 0 && std::isfinite(o.requests_per_s) && o.max_wait_ns >= 0 && o.warm_up >= 0 && o.warm_up < 1,
      Code::invalid_argument, "{} requests a second that wait up to {} ns", o.requests_per_s, o.max_wait_ns);
  check(o.failures_per_s >= 0 && o.repair_s >= 0 && o.takeover_s >= 0 && o.spares >= 0, Code::invalid_argument,
        "{} failures a second, repaired in {} s, taken over in {} s by {} spares", o.failures_per_s, o.repair_s,
        o.takeover_s, o.spares);
  // A year is more than any number of requests is simulated for; times stay exact to less than a nanosecond so.
  constexpr double kLeastPerS = 1e-6;
  check(o.requests_per_s >= kLeastPerS, Code::invalid_argument, Hint{"ask for more"},
        "{} requests a second are fewer than the {} that can be simulated", o.requests_per_s, kLeastPerS);
  check(o.failures_per_s * o.latency_ns <= 1e9, Code::invalid_argument,
        Hint{"let them fail less often: failures a second times the time of a batch is to be below 1"},
        "a chip would fail every {:.3g} ms, and a batch takes {:.3g} ms: hardly any would be finished",
        1e3 / o.failures_per_s, o.latency_ns * 1e-6);
  const double most = capacity_per_s(o);
  check(o.requests_per_s < most, Code::invalid_argument, Hint{"ask for less, or give it more chips"},
        "{:.7g} requests a second come and {:.7g} can be served: the queue would grow for ever", o.requests_per_s,
        most);
  return Serving(o).run();
}

}  // namespace tessera::fleet
