#include "tessera/core/error.h"
#include "tessera/ncp/trainer.h"

#include <algorithm>
#include <cmath>

namespace tessera::ncp {
namespace {

void check_count(std::string_view what, std::size_t found, std::int64_t wanted, std::string_view why) {
  check(static_cast<std::int64_t>(found) == wanted, Code::invalid_argument, "{} has {} values, {} make {}", what, found,
        why, wanted);
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from, std::int64_t first, std::int64_t count,
            std::int64_t width) {
  if (from.empty()) return;
  to.insert(to.end(), from.begin() + first * width, from.begin() + (first + count) * width);
}

}  // namespace

void check_dataset(const Dataset& data, const Layer& layer, Loss loss, Readout readout) {
  const LayerSizes size = sizes(layer);
  check(data.samples >= 1 && data.steps >= 1, Code::invalid_argument,
        "a data set of {} samples of {} steps: at least one of each", data.samples, data.steps);
  check(data.inputs == size.inputs, Code::invalid_argument, "the data has {} inputs, the layer {}", data.inputs,
        size.inputs);
  const std::int64_t rows = data.rows();
  const std::string shape = data.begins.empty() ? fmt::format("{} samples x {} steps", data.samples, data.steps)
                                                : fmt::format("{} rows", rows);
  check_count("the input", data.input.size(), rows * data.inputs, fmt::format("{} x {} inputs", shape, data.inputs));
  if (!data.timespans.empty()) check_count("timespans", data.timespans.size(), rows, shape);
  if (!data.lengths.empty()) check_count("lengths", data.lengths.size(), data.samples, "samples");
  for (std::size_t i = 0; i < data.lengths.size(); ++i)
    check(1 <= data.lengths[i] && data.lengths[i] <= data.steps, Code::invalid_argument, "sample {} has {} of {} steps",
          i, data.lengths[i], data.steps);
  if (!data.begins.empty()) {
    check_count("begins", data.begins.size(), data.samples, "samples");
    check_count("lengths", data.lengths.size(), data.samples, "samples that begin where they like");
    for (std::int64_t i = 0; i < data.samples; ++i)
      check(0 <= data.begin(i) && data.begin(i) + data.length(i) <= rows, Code::invalid_argument,
            "sample {} has {} steps from row {} on, of {} rows", i, data.length(i), data.begin(i), rows);
  }
  const int width = targets_per_row(loss, size.outputs);
  check_count("the target", data.targets.size(), (readout == Readout::every_step ? rows : data.samples) * width,
              readout == Readout::every_step ? fmt::format("{} x {} targets", shape, width)
                                             : fmt::format("{} samples x {} targets", data.samples, width));
  for (std::size_t i = 0; i < data.targets.size(); ++i) {
    const float target = data.targets[i];
    if (loss == Loss::softmax_cross_entropy)
      check(target >= 0 && target < static_cast<float>(size.outputs) && target == std::floor(target),
            Code::invalid_argument, "target {} is {}: no class from 0 to {}", i, target, size.outputs - 1);
    else if (loss == Loss::binary_cross_entropy)
      check(target >= 0 && target <= 1, Code::invalid_argument, "target {} is {}: not from 0 to 1", i, target);
  }
}

Dataset subset(const Dataset& data, std::span<const std::int64_t> samples, Readout readout) {
  Dataset out{.samples = static_cast<std::int64_t>(samples.size()), .steps = data.steps, .inputs = data.inputs};
  const bool every = readout == Readout::every_step;
  const std::int64_t rows = every ? data.rows() : data.samples;
  const std::int64_t width = rows == 0 ? 0 : static_cast<std::int64_t>(data.targets.size()) / rows;
  std::int64_t begin = 0;
  for (const std::int64_t s : samples) {
    const std::int64_t first = data.begin(s), count = data.begins.empty() ? data.steps : data.length(s);
    append(out.input, data.input, first, count, data.inputs);
    append(out.timespans, data.timespans, first, count, 1);
    append(out.lengths, data.lengths, s, 1, 1);
    append(out.targets, data.targets, every ? first : s, every ? count : 1, width);
    if (!data.begins.empty()) out.begins.push_back(begin);
    begin += count;
  }
  return out;
}

}  // namespace tessera::ncp
