#include "tessera/ncp/gradient_exchange.h"

#include "tessera/core/parallel_for.h"

#include <algorithm>

namespace tessera::ncp {
namespace {

constexpr std::int64_t kNumbersAtATime = 1 << 14;

}  // namespace

GradientExchange::~GradientExchange() = default;

void add_parts(std::span<const float* const> parts, std::span<float> to) {
  if (parts.empty()) return;
  parallel_for(static_cast<std::int64_t>(to.size()), kNumbersAtATime, [&](std::int64_t begin, std::int64_t end) {
    float* sum = to.data();
    for (const float* part : parts)
      for (std::int64_t i = begin; i < end; ++i) sum[i] += part[i];
  });
}

void begin_buckets(GradientExchange& exchange, std::span<const float* const> rows, std::int64_t begin, std::int64_t end,
                   std::vector<float>& sum) {
  std::vector<const float*> parts(rows.size());
  for (std::int64_t at = begin; at < end; at += kBucket) {
    for (std::size_t i = 0; i < rows.size(); ++i) parts[i] = rows[i] + at;
    exchange.begin(parts, std::span(sum).subspan(static_cast<std::size_t>(at),
                                                 static_cast<std::size_t>(std::min(kBucket, end - at))));
  }
}

}  // namespace tessera::ncp
