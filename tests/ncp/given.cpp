#include "given.h"

#include "tessera/ncp/random_generator.h"

namespace tessera::ncp {

std::vector<float> uniform(std::int64_t count, std::uint64_t seed, double low, double high) {
  RandomGenerator random(seed);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& value : out)
    value = static_cast<float>(low + (high - low) * static_cast<double>(random.next_u64() >> 11) * 0x1p-53);
  return out;
}

std::vector<double> wide(const std::vector<float>& values) { return {values.begin(), values.end()}; }

Given::Given(const Layer& layer, std::int64_t batch, std::int64_t steps, std::optional<std::uint64_t> dropout) {
  const LayerSizes size = sizes(layer);
  input = uniform(batch * steps * size.inputs, 1, -2, 2);
  timespans = uniform(batch * steps, 2, 0.1, 2);
  state = uniform(batch * size.state, 3);
  if (size.mixed_memory) memory = uniform(batch * size.state, 4);
  sequence = {batch, steps, input, timespans, state, memory, dropout};
}

}  // namespace tessera::ncp
