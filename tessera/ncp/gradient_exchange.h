#pragma once

// Training by several processes, each with a share of every batch: what they have to tell each other. tessera/scale has
// one over MPI; nothing here knows how bytes travel.

#include "tessera/core/export.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::ncp {

class TSR_API GradientExchange {
 public:
  virtual ~GradientExchange();

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string who(int rank) const = 0;  // for messages

  // Whether sums are added up in the order of one process: part after part, those of the first rank first. Shares of
  // batches are cut for it then, and any number of processes gives the same bits.
  virtual bool in_order() const = 0;

  // This process's parts of a bucket are final. After wait(), `sum` has the sum of all parts of all processes, with the
  // same bits in each. There may be no parts at all. What parts point to, and the sum, stay where they are until then.
  // All processes begin the same buckets in the same order, and more is done for those underway whenever another one
  // begins.
  virtual void begin(std::span<const float* const> parts, std::span<float> sum) = 0;
  virtual void wait() = 0;  // for all of them

  // What each process has to say, by rank; lengths may differ.
  virtual std::vector<std::vector<double>> gather(std::span<const double> mine) = 0;
};

// to[i] += parts[0][i], then parts[1][i], and so on.
TSR_API void add_parts(std::span<const float* const> parts, std::span<float> to);

// Numbers of a bucket: as large as is worth a message, as small as lets others be on their way meanwhile.
constexpr std::int64_t kBucket = std::int64_t{1} << 20;
// Begins a range of all rows in buckets, into the same range of `sum`.
TSR_API void begin_buckets(GradientExchange& exchange, std::span<const float* const> rows, std::int64_t begin,
                           std::int64_t end, std::vector<float>& sum);

// A part of a batch whose rest is in other processes.
struct BatchShare {
  std::int64_t whole = 0;               // samples of all of it, where chunks have to be as in one process; else 0
  std::vector<std::int64_t> samples{};  // which of them are here
};

}  // namespace tessera::ncp
