// The class of each pixel, from an output at the network's own resolution.

#include "tessera/core/error.h"
#include "tessera/vision/read_answers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

namespace tessera::vision {
namespace {

struct Classes {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint16_t> of_cell;
};

Classes best_of_scores(const Values& scores) {
  const std::int64_t classes = scores.dims.at(0);
  Classes out{scores.dims.at(2), scores.dims.at(1), {}};
  const std::int64_t cells = out.width * out.height;
  out.of_cell.resize(static_cast<std::size_t>(cells));
  const auto at = [&](std::int64_t c, std::int64_t cell) {
    return scores.numbers[static_cast<std::size_t>(c * cells + cell)];
  };
  check(classes < Mask::kUnseen, Code::unsupported, "a mask of {} classes is more than {}", classes, Mask::kUnseen - 1);
  if (classes == 1) {  // something or nothing: a probability, or what is not through the sigmoid yet
    const bool logits =
        std::any_of(scores.numbers.begin(), scores.numbers.end(), [](double s) { return s < 0 || s > 1; });
    for (std::int64_t cell = 0; cell < cells; ++cell)
      out.of_cell[static_cast<std::size_t>(cell)] = at(0, cell) > (logits ? 0 : 0.5) ? 1 : 0;
    return out;
  }
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (at(c, cell) > at(best, cell)) best = c;
    out.of_cell[static_cast<std::size_t>(cell)] = static_cast<std::uint16_t>(best);
  }
  return out;
}

Classes whole_numbers(const Values& values) {
  Classes out{values.dims.back(), values.dims.at(values.dims.size() - 2), {}};
  for (const double value : values.numbers) {
    check(value >= 0 && value < Mask::kUnseen, Code::unsupported, "the mask has the class {}", value);
    out.of_cell.push_back(static_cast<std::uint16_t>(value));
  }
  return out;
}

}  // namespace

void read_mask(const OutputReading& reading, std::span<const Array> outputs, const Seen& seen, Answers& answers) {
  const Values values = of_picture(outputs[reading.outputs.at(0)], seen);
  const Classes classes = reading.form == OutputForm::mask_scores ? best_of_scores(values) : whole_numbers(values);
  Mask mask{seen.width, seen.height, {}};
  mask.classes.resize(static_cast<std::size_t>(seen.width * seen.height), Mask::kUnseen);
  const double cells_per_pixel_x = static_cast<double>(classes.width) / static_cast<double>(seen.input.width);
  const double cells_per_pixel_y = static_cast<double>(classes.height) / static_cast<double>(seen.input.height);
  const Placement& placement = seen.placement;
  const auto cell_of = [](std::int64_t pixel, double scale, double offset, double per_pixel) {
    return static_cast<std::int64_t>(std::floor(((static_cast<double>(pixel) + 0.5) * scale + offset) * per_pixel));
  };
  std::map<std::uint16_t, std::int64_t> count;
  for (std::int64_t y = 0; y < seen.height; ++y) {
    const std::int64_t row = cell_of(y, placement.scale_y, placement.offset_y, cells_per_pixel_y);
    if (row < 0 || row >= classes.height) continue;
    for (std::int64_t x = 0; x < seen.width; ++x) {
      const std::int64_t column = cell_of(x, placement.scale_x, placement.offset_x, cells_per_pixel_x);
      if (column < 0 || column >= classes.width) continue;
      const std::uint16_t found = classes.of_cell[static_cast<std::size_t>(row * classes.width + column)];
      mask.classes[static_cast<std::size_t>(y * seen.width + x)] = found;
      ++count[found];
    }
  }
  for (const auto& [index, pixels] : count)
    answers.areas.push_back(
        {index, {}, pixels, static_cast<double>(pixels) / static_cast<double>(seen.width * seen.height)});
  std::stable_sort(answers.areas.begin(), answers.areas.end(),
                   [](const MaskArea& a, const MaskArea& b) { return a.pixels > b.pixels; });
  answers.mask = std::move(mask);
}

}  // namespace tessera::vision
