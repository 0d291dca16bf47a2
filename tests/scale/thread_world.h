#pragma once

// Ranks that are threads of one process.

#include "tessera/scale/communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tessera::for_tests {

class Threads {
 public:
  explicit Threads(int size) : boxes_(static_cast<std::size_t>(size)), gathered_(boxes_.size()) {}

  // Runs `body` as every rank and waits for all of them; what each threw, or nothing.
  std::vector<std::string> run(const std::function<void(Communicator&)>& body);

 private:
  class Rank;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<Communicator::Message>> boxes_;
  std::vector<Payload> gathered_, taken_;
  int arrived_ = 0;
  long round_ = 0;
};

class Threads::Rank final : public Communicator {
 public:
  Rank(Threads& all, int rank) : all_(all), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(all_.boxes_.size()); }
  const std::string& host(int) const override { return host_; }
  void barrier() override { all_gather({}); }
  void broadcast(std::span<std::byte> bytes, int root) override {
    const std::vector<Payload> all =
        all_gather(rank_ == root ? std::span<const std::byte>(bytes) : std::span<std::byte>());
    std::ranges::copy(all[static_cast<std::size_t>(root)], bytes.begin());
  }
  std::vector<Payload> all_gather(std::span<const std::byte> bytes) override {
    std::unique_lock lock(all_.mutex_);
    all_.gathered_[static_cast<std::size_t>(rank_)].assign(bytes.begin(), bytes.end());
    const long round = all_.round_;
    if (++all_.arrived_ == size()) {
      all_.arrived_ = 0;
      ++all_.round_;
      all_.taken_ = all_.gathered_;  // stays until every rank has come to the next round, so after all have read it
      all_.changed_.notify_all();
    } else {
      all_.changed_.wait(lock, [&] { return all_.round_ != round; });
    }
    return all_.taken_;
  }
  // Added up when it is waited for, by all in the order in which sums were started.
  std::unique_ptr<Sum> start_sum(std::span<float> values) override {
    return std::make_unique<LateSum>(*this, values, started_++);
  }
  void send(int to, Payload bytes) override {
    const std::lock_guard lock(all_.mutex_);
    all_.boxes_[static_cast<std::size_t>(to)].push_back({rank_, std::move(bytes)});
    all_.changed_.notify_all();
  }
  Message receive() override {
    std::unique_lock lock(all_.mutex_);
    all_.changed_.wait(lock, [&] { return !box().empty(); });
    return take();
  }
  std::optional<Message> poll() override {
    const std::lock_guard lock(all_.mutex_);
    if (box().empty()) return std::nullopt;
    return take();
  }
  void leave(int) override {}

 private:
  class LateSum final : public Sum {
   public:
    LateSum(Rank& world, std::span<float> values, int number) : world_(world), values_(values), number_(number) {}
    bool done() override { return number_ < world_.waited_; }
    void wait() override {
      if (done()) return;
      EXPECT_EQ(number_, world_.waited_++) << "ranks may wait in different orders";
      const std::vector<Payload> all = world_.all_gather(std::as_bytes(values_));
      std::ranges::fill(values_, 0.0f);
      // From the last rank to the first: nobody may count on an order.
      for (auto from = all.rbegin(); from != all.rend(); ++from) {
        EXPECT_EQ(from->size(), values_.size_bytes()) << "ranks add up different things";
        std::vector<float> part(values_.size());
        std::memcpy(part.data(), from->data(), std::min(from->size(), values_.size_bytes()));
        for (std::size_t i = 0; i < part.size(); ++i) values_[i] += part[i];
      }
    }

   private:
    Rank& world_;
    std::span<float> values_;
    int number_;
  };

  std::deque<Message>& box() { return all_.boxes_[static_cast<std::size_t>(rank_)]; }
  Message take() {
    Message out = std::move(box().front());
    box().pop_front();
    return out;
  }

  Threads& all_;
  int rank_;
  int started_ = 0, waited_ = 0;
  std::string host_ = "here";
};

inline std::vector<std::string> Threads::run(const std::function<void(Communicator&)>& body) {
  std::vector<std::string> thrown(boxes_.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < static_cast<int>(boxes_.size()); ++rank)
    threads.emplace_back([&, rank] {
      Rank self(*this, rank);
      try {
        body(self);
      } catch (const std::exception& error) {
        thrown[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

}  // namespace tessera::for_tests
