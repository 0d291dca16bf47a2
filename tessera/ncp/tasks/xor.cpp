#include "tessera/core/error.h"
#include "tessera/ncp/random_state.h"
#include "tessera/ncp/tasks/task.h"

namespace tessera::ncp {
namespace {

constexpr std::uint32_t kTrainingSeed = 1234984, kTestSeed = 48736;  // the paper's
constexpr std::uint32_t kValidationSeed = 73;

Dataset dataset(std::uint32_t seed, std::int64_t streams) {
  const XorStreams drawn = draw_xor(seed, streams);
  Dataset out{.samples = streams, .steps = XorStreams::kSteps, .inputs = 1};
  out.input.assign(drawn.events.begin(), drawn.events.end());
  for (const std::int16_t elapsed : drawn.elapsed)
    out.timespans.push_back(static_cast<float>(elapsed) / static_cast<float>(XorStreams::kSteps));
  out.lengths = drawn.counts;
  out.targets.assign(drawn.labels.begin(), drawn.labels.end());
  return out;
}

}  // namespace

XorStreams draw_xor(std::uint32_t seed, std::int64_t streams) {
  check(streams >= 0, Code::invalid_argument, "{} streams cannot be drawn", streams);
  constexpr int kSteps = XorStreams::kSteps;
  RandomState random(seed);
  XorStreams out;
  const auto size = static_cast<std::size_t>(streams);
  out.events.resize(size * kSteps);
  out.elapsed.resize(size * kSteps);
  out.mask.resize(size * kSteps);
  for (std::size_t s = 0; s < size; ++s) {
    const int bits = 2 + random.choice(kSteps - 2);
    int last = -1, since = 0, parity = 0;
    std::int32_t events = 0;
    const auto write = [&](int bit) {
      const std::size_t at = s * kSteps + static_cast<std::size_t>(events++);
      out.events[at] = static_cast<std::int8_t>(bit);
      out.elapsed[at] = static_cast<std::int16_t>(since);
      out.mask[at] = 1;
      since = 0;
    };
    for (int i = 0; i < bits; ++i) {
      const int bit = random.choice(2);
      parity ^= bit;
      ++since;
      if (bit == last) continue;
      write(bit);
      last = bit;
    }
    if (since > 0) write(last);
    out.labels.push_back(static_cast<std::int8_t>(parity));
    out.bits.push_back(bits);
    out.counts.push_back(events);
  }
  return out;
}

Task xor_task(const XorSizes& sizes) {
  check(sizes.training >= 1 && sizes.test >= 1 && sizes.validation >= 0, Code::invalid_argument,
        "{} streams to train on, {} to test and {} to validate: at least one of the first two", sizes.training,
        sizes.test, sizes.validation);
  return {.name = "xor",
          .training = dataset(kTrainingSeed, sizes.training),
          .validation = dataset(kValidationSeed, sizes.validation),
          .test = dataset(kTestSeed, sizes.test),
          .loss = Loss::softmax_cross_entropy,
          .readout = Readout::last_step,
          .outputs = 2};
}

}  // namespace tessera::ncp
