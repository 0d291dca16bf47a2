#include "tessera/ncp/evaluation.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <span>

namespace tessera::ncp {

Layer evaluated(Layer layer) {
  std::visit([](auto& l) { l.return_sequences = l.batch_first = true; }, layer);
  return layer;
}

LossSums evaluate(const Layer& layer, const Dataset& data, Loss loss, Readout readout, std::int64_t batch,
                  FunctionRef<void(const Sequence<float>&, SequenceResult<float>&)> run) {
  check_dataset(data, layer, loss, readout);
  check(batch >= 1, Code::invalid_argument, "a batch of {} samples", batch);
  const auto outputs = static_cast<std::size_t>(sizes(layer).outputs);
  const auto targets = static_cast<std::size_t>(targets_per_row(loss, sizes(layer).outputs));
  LossSums sums;
  SequenceResult<float> result;
  std::vector<float> padded_input, padded_times;
  for (std::int64_t first = 0; first < data.samples; first += batch) {
    const std::int64_t count = std::min(batch, data.samples - first);
    std::int64_t longest = 0;
    for (std::int64_t s = first; s < first + count; ++s) longest = std::max(longest, data.length(s));
    if (data.begins.empty()) longest = data.steps;
    // As they lie there, or padded to the longest of them.
    const auto part = [&](const std::vector<float>& of, std::int64_t width, float padding, std::vector<float>& padded) {
      if (of.empty()) return std::span<const float>{};
      if (data.begins.empty())
        return std::span(of).subspan(static_cast<std::size_t>(first * longest * width),
                                     static_cast<std::size_t>(count * longest * width));
      padded.assign(static_cast<std::size_t>(count * longest * width), padding);
      for (std::int64_t s = 0; s < count; ++s)
        std::copy_n(of.begin() + data.begin(first + s) * width, data.length(first + s) * width,
                    padded.begin() + s * longest * width);
      return std::span<const float>(padded);
    };
    run({.batch = count,
         .steps = longest,
         .input = part(data.input, data.inputs, 0, padded_input),
         .timespans = part(data.timespans, 1, 1, padded_times)},
        result);
    const auto steps = static_cast<std::size_t>(longest);
    check(result.output.size() == static_cast<std::size_t>(count) * steps * outputs, Code::internal,
          "a runner made {} outputs of {} samples", result.output.size(), count);
    for (std::int64_t b = 0; b < count; ++b) {
      const auto sample = static_cast<std::size_t>(first + b), begin = static_cast<std::size_t>(data.begin(first + b));
      const auto length = static_cast<std::size_t>(data.length(first + b));
      const bool every = readout == Readout::every_step;
      for (std::size_t t = every ? 0 : length - 1; t < length; ++t)
        add_loss(loss, std::span(result.output).subspan((static_cast<std::size_t>(b) * steps + t) * outputs, outputs),
                 std::span(data.targets).subspan((every ? begin + t : sample) * targets, targets), 1, sums, {});
    }
  }
  return sums;
}

}  // namespace tessera::ncp
