#include "tessera/vision/read_answers.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tessera::vision {
namespace {

std::string label_of(std::span<const std::string> labels, std::int64_t index) {
  return index >= 0 && index < static_cast<std::int64_t>(labels.size()) ? labels[static_cast<std::size_t>(index)] : "";
}

std::vector<double> probabilities(std::span<const double> scores) {
  std::vector<double> out(scores.begin(), scores.end());
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  const bool already = std::all_of(out.begin(), out.end(), [](double s) { return s >= 0; }) && std::abs(sum - 1) < 1e-3;
  if (already || out.empty()) return out;
  const double most = *std::max_element(out.begin(), out.end());
  double total = 0;
  for (double& score : out) total += score = std::exp(score - most);
  for (double& score : out) score /= total;
  return out;
}

}  // namespace

Values of_picture(const Array& output, const Seen& seen) {
  std::vector<std::int64_t> dims = output.shape().dims();
  std::vector<double> numbers = output.to_double();
  for (const double number : numbers)
    check(!std::isnan(number), Code::invalid_argument,
          Hint{"`tessera compare MODEL --bisect` finds the node that they come from"},
          "the outputs hold NaN: there is nothing to read in them");
  // One picture of a batch, or all there is of an output that has no such extent.
  if (seen.input.batched && !dims.empty() && dims[0] == seen.input.batch) {
    const std::size_t one = numbers.size() / static_cast<std::size_t>(dims[0]);
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(one * static_cast<std::size_t>(seen.position));
    numbers = std::vector<double>(first, first + static_cast<std::ptrdiff_t>(one));
    dims.erase(dims.begin());
  }
  return {std::move(dims), std::move(numbers)};
}

std::vector<RankedClass> rank_classes(std::span<const double> scores, std::int64_t count) {
  const std::vector<double> chance = probabilities(scores);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto listed = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(count, std::ssize(order)));
  // NaN would break the order: whatever compares with it is "not better".
  std::partial_sort(order.begin(), order.begin() + listed, order.end(), [&](std::size_t a, std::size_t b) {
    return std::isnan(scores[b]) ? !std::isnan(scores[a]) : scores[a] > scores[b];
  });
  std::vector<RankedClass> best;
  for (std::ptrdiff_t rank = 0; rank < listed; ++rank) {
    const std::size_t index = order[static_cast<std::size_t>(rank)];
    best.push_back({static_cast<std::int64_t>(index), {}, scores[index], chance[index]});
  }
  return best;
}

Answers read_answers(const OutputReading& reading, std::span<const Array> outputs, const Seen& seen,
                     std::span<const std::string> labels, const AnswerLimits& limits) {
  Answers answers{.task = task_of(reading.form),
                  .form = std::string(description(reading.form)),
                  .width = seen.width,
                  .height = seen.height};
  switch (answers.task) {
    case Task::classify:
      answers.classes = rank_classes(of_picture(outputs[reading.outputs.at(0)], seen).numbers, limits.top);
      for (RankedClass& one : answers.classes) one.label = label_of(labels, one.index);
      break;
    case Task::detect: {
      bool background_first = false;
      answers.boxes = read_boxes(reading, outputs, seen, limits, background_first);
      // Names may leave the background out.
      const std::int64_t shift =
          background_first && static_cast<std::int64_t>(labels.size()) + 1 == reading.classes ? 1 : 0;
      for (DetectedBox& box : answers.boxes) box.label = label_of(labels, box.index - shift);
      break;
    }
    case Task::segment:
      read_mask(reading, outputs, seen, answers);
      for (MaskArea& area : answers.areas) area.label = label_of(labels, area.index);
      break;
  }
  return answers;
}

}  // namespace tessera::vision
