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
  const auto steps = static_cast<std::size_t>(data.steps);
  const auto part = [](const std::vector<float>& of, std::int64_t first, std::int64_t count, std::int64_t width) {
    return of.empty() ? std::span<const float>{}
                      : std::span(of).subspan(static_cast<std::size_t>(first * width),
                                              static_cast<std::size_t>(count * width));
  };
  LossSums sums;
  SequenceResult<float> result;
  for (std::int64_t first = 0; first < data.samples; first += batch) {
    const std::int64_t count = std::min(batch, data.samples - first);
    run({.batch = count,
         .steps = data.steps,
         .input = part(data.input, first, count, data.steps * data.inputs),
         .timespans = part(data.timespans, first, count, data.steps)},
        result);
    check(result.output.size() == static_cast<std::size_t>(count) * steps * outputs, Code::internal,
          "a runner made {} outputs of {} samples", result.output.size(), count);
    for (std::int64_t b = 0; b < count; ++b) {
      const auto sample = static_cast<std::size_t>(first + b);
      const std::size_t length = data.lengths.empty() ? steps : static_cast<std::size_t>(data.lengths[sample]);
      const bool every = readout == Readout::every_step;
      for (std::size_t t = every ? 0 : length - 1; t < length; ++t)
        add_loss(loss, std::span(result.output).subspan((static_cast<std::size_t>(b) * steps + t) * outputs, outputs),
                 std::span(data.targets).subspan((every ? sample * steps + t : sample) * targets, targets), 1, sums,
                 {});
    }
  }
  return sums;
}

}  // namespace tessera::ncp
