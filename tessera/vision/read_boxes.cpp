// Boxes out of the outputs of detectors.

#include "tessera/core/error.h"
#include "tessera/vision/read_answers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace tessera::vision {
namespace {

constexpr std::size_t kMostCandidates = 3000;  // boxes are compared with each other
constexpr std::int64_t kBins = 16;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Overlap of two boxes: intersection over union.
double overlap(const DetectedBox& a, const DetectedBox& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const auto area = [](const DetectedBox& box) { return (box.right - box.left) * (box.bottom - box.top); };
  return width * height / (area(a) + area(b) - width * height);
}

// Gathers boxes in pixels of the input.
class Candidates {
 public:
  explicit Candidates(double least) : least_(least) {}

  void add(double left, double top, double right, double bottom, std::int64_t index, double score) {
    if (score >= least_) boxes_.push_back({left, top, right, bottom, index, {}, score});
  }
  std::vector<DetectedBox> take() && { return std::move(boxes_); }

 private:
  double least_;
  std::vector<DetectedBox> boxes_;
};

// Networks give pixels of their input, or parts of its extents: no box in pixels has all its numbers near 1.
double to_pixels(const Values& boxes, std::int64_t per_box, std::int64_t stride, std::int64_t extent) {
  constexpr double kMostOfAPart = 2;
  double most = 0;
  for (std::int64_t i = 0; i * stride + 3 < std::ssize(boxes.numbers) && i < per_box; ++i)
    for (std::int64_t k = 0; k < 4; ++k) most = std::max(most, boxes.numbers[static_cast<std::size_t>(i * stride + k)]);
  return most <= kMostOfAPart ? static_cast<double>(extent) : 1;
}

// Scores that leave [0, 1] are not through the sigmoid yet.
bool are_logits(const std::vector<double>& scores) {
  return std::any_of(scores.begin(), scores.end(), [](double s) { return s < 0 || s > 1; });
}

struct BestClass {
  std::int64_t index = 0;
  double score = 0;
};

template <class Score>
BestClass best_class(std::int64_t classes, const Score& score) {
  BestClass best{0, -1e300};
  for (std::int64_t c = 0; c < classes; ++c)
    if (const double s = score(c); s > best.score) best = {c, s};
  return best;
}

// One row for each box, whichever way they lie in the output.
void read_yolo(const Values& values, const Seen& seen, bool columns, Candidates& out) {
  const std::int64_t per_box = columns ? values.dims.at(0) : values.dims.at(1);
  const std::int64_t boxes = columns ? values.dims.at(1) : values.dims.at(0), first_class = columns ? 4 : 5;
  const auto at = [&](std::int64_t box, std::int64_t k) {
    return values.numbers[static_cast<std::size_t>(columns ? k * boxes + box : box * per_box + k)];
  };
  double most = 0;
  bool logits = false;
  for (std::int64_t box = 0; box < boxes; ++box) {
    for (std::int64_t k = 0; k < 4; ++k) most = std::max(most, at(box, k));
    for (std::int64_t k = 4; k < per_box; ++k) logits = logits || at(box, k) < 0 || at(box, k) > 1;
  }
  const bool parts = most <= 2;
  const double unit_x = parts ? static_cast<double>(seen.input.width) : 1;
  const double unit_y = parts ? static_cast<double>(seen.input.height) : 1;
  const auto score = [&](double raw) { return logits ? sigmoid(raw) : raw; };
  for (std::int64_t box = 0; box < boxes; ++box) {
    const BestClass best = best_class(per_box - first_class, [&](std::int64_t c) { return at(box, first_class + c); });
    const double sure = score(best.score) * (columns ? 1 : score(at(box, 4)));
    const double x = at(box, 0) * unit_x, y = at(box, 1) * unit_y, w = at(box, 2) * unit_x, h = at(box, 3) * unit_y;
    out.add(x - w / 2, y - h / 2, x + w / 2, y + h / 2, best.index, sure);
  }
}

void read_head(const Values& head, const Seen& seen, Candidates& out) {
  const std::int64_t rows = head.dims.at(1), columns = head.dims.at(2), cells = rows * columns;
  const std::int64_t classes = head.dims.at(0) - 4 * kBins;
  const double stride = static_cast<double>(seen.input.height) / static_cast<double>(rows);
  const auto at = [&](std::int64_t channel, std::int64_t cell) {
    return head.numbers[static_cast<std::size_t>(channel * cells + cell)];
  };
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const BestClass best = best_class(classes, [&](std::int64_t c) { return at(4 * kBins + c, cell); });
    std::array<double, 4> sides{};  // the expected distance to each side, in cells
    for (std::int64_t side = 0; side < 4; ++side) {
      double most = -1e300, total = 0, sum = 0;
      for (std::int64_t bin = 0; bin < kBins; ++bin) most = std::max(most, at(side * kBins + bin, cell));
      for (std::int64_t bin = 0; bin < kBins; ++bin) {
        const double weight = std::exp(at(side * kBins + bin, cell) - most);
        total += weight;
        sum += weight * static_cast<double>(bin);
      }
      sides[static_cast<std::size_t>(side)] = sum / total;
    }
    const double x = static_cast<double>(cell % columns) + 0.5, y = static_cast<double>(cell / columns) + 0.5;
    out.add((x - sides[0]) * stride, (y - sides[1]) * stride, (x + sides[2]) * stride, (y + sides[3]) * stride,
            best.index, sigmoid(best.score));
  }
}

// Corners, four numbers at `at`.
void add_corners(const double* at, double unit_x, double unit_y, bool yx, std::int64_t index, double score,
                 Candidates& out) {
  if (yx)
    out.add(at[1] * unit_x, at[0] * unit_y, at[3] * unit_x, at[2] * unit_y, index, score);
  else
    out.add(at[0] * unit_x, at[1] * unit_y, at[2] * unit_x, at[3] * unit_y, index, score);
}

void read_final_rows(const Values& rows, const Seen& seen, Candidates& out) {
  const std::int64_t boxes = rows.dims.at(0);
  const double unit_x = to_pixels(rows, boxes, 6, seen.input.width);
  const double unit_y = to_pixels(rows, boxes, 6, seen.input.height);
  for (std::int64_t box = 0; box < boxes; ++box) {
    const double* at = rows.numbers.data() + box * 6;
    add_corners(at, unit_x, unit_y, false, std::llround(at[5]), at[4], out);
  }
}

void read_final_boxes(const OutputReading& reading, std::span<const Array> outputs, const Seen& seen, Candidates& out) {
  const Values boxes = of_picture(outputs[reading.outputs.at(0)], seen);
  const Values scores = of_picture(outputs[reading.outputs.at(1)], seen);
  const Values classes = of_picture(outputs[reading.outputs.at(2)], seen);
  std::int64_t count = std::ssize(boxes.numbers) / 4;
  check(std::ssize(scores.numbers) == count && std::ssize(classes.numbers) == count, Code::invalid_argument,
        "the network gives {} boxes, {} scores and {} classes", count, scores.numbers.size(), classes.numbers.size());
  const double unit_x = to_pixels(boxes, count, 4, seen.input.width);
  const double unit_y = to_pixels(boxes, count, 4, seen.input.height);
  if (reading.outputs.size() > 3) {  // how many of them count
    const Values number = of_picture(outputs[reading.outputs[3]], seen);
    if (!number.numbers.empty()) count = std::clamp<std::int64_t>(std::llround(number.numbers[0]), 0, count);
  }
  for (std::int64_t box = 0; box < count; ++box) {
    const std::size_t i = static_cast<std::size_t>(box);
    add_corners(boxes.numbers.data() + box * 4, unit_x, unit_y, reading.corners_yx, std::llround(classes.numbers[i]),
                scores.numbers[i], out);
  }
}

void read_scored_boxes(const OutputReading& reading, std::span<const Array> outputs, const Seen& seen,
                       Candidates& out) {
  const Values boxes = of_picture(outputs[reading.outputs.at(0)], seen);
  const Values scores = of_picture(outputs[reading.outputs.at(1)], seen);
  const std::int64_t count = std::ssize(boxes.numbers) / 4, classes = scores.dims.back();
  check(std::ssize(scores.numbers) == count * classes, Code::invalid_argument,
        "the network gives {} boxes, and {} scores of {} classes", count, scores.numbers.size(), classes);
  const double unit_x = to_pixels(boxes, count, 4, seen.input.width);
  const double unit_y = to_pixels(boxes, count, 4, seen.input.height);
  const bool logits = are_logits(scores.numbers);
  std::vector<double> row(static_cast<std::size_t>(classes));
  for (std::int64_t box = 0; box < count; ++box) {
    const auto first = scores.numbers.begin() + static_cast<std::ptrdiff_t>(box * classes);
    std::copy_n(first, classes, row.begin());
    if (logits) {  // softmax over the classes and the background
      const double most = *std::max_element(row.begin(), row.end());
      double total = 0;
      for (double& score : row) total += score = std::exp(score - most);
      for (double& score : row) score /= total;
    }
    for (std::int64_t c = 1; c < classes; ++c)
      add_corners(boxes.numbers.data() + box * 4, unit_x, unit_y, reading.corners_yx, c,
                  row[static_cast<std::size_t>(c)], out);
  }
}

// From the input to the picture, and none of it beyond the picture's edges.
std::vector<DetectedBox> on_picture(std::vector<DetectedBox> boxes, const Seen& seen) {
  const double width = static_cast<double>(seen.width), height = static_cast<double>(seen.height);
  for (DetectedBox& box : boxes) {
    box.left = std::clamp(seen.placement.picture_x(box.left), 0.0, width);
    box.right = std::clamp(seen.placement.picture_x(box.right), 0.0, width);
    box.top = std::clamp(seen.placement.picture_y(box.top), 0.0, height);
    box.bottom = std::clamp(seen.placement.picture_y(box.bottom), 0.0, height);
  }
  std::erase_if(boxes, [](const DetectedBox& box) { return box.right <= box.left || box.bottom <= box.top; });
  return boxes;
}

}  // namespace

std::vector<DetectedBox> suppress_overlaps(std::vector<DetectedBox> boxes, const AnswerLimits& limits) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const DetectedBox& a, const DetectedBox& b) { return a.score > b.score; });
  if (boxes.size() > kMostCandidates) boxes.resize(kMostCandidates);
  std::vector<DetectedBox> kept;
  for (const DetectedBox& box : boxes) {
    if (std::ssize(kept) >= limits.most_boxes) break;
    const bool hidden = std::any_of(kept.begin(), kept.end(), [&](const DetectedBox& surer) {
      return surer.index == box.index && overlap(surer, box) > limits.most_overlap;
    });
    if (!hidden) kept.push_back(box);
  }
  return kept;
}

std::vector<DetectedBox> read_boxes(const OutputReading& reading, std::span<const Array> outputs, const Seen& seen,
                                    const AnswerLimits& limits, bool& background_first) {
  Candidates found(limits.least_score);
  background_first = reading.form == OutputForm::scored_boxes;
  switch (reading.form) {
    case OutputForm::yolo_columns:
    case OutputForm::yolo_rows:
      read_yolo(of_picture(outputs[reading.outputs.at(0)], seen), seen, reading.form == OutputForm::yolo_columns,
                found);
      break;
    case OutputForm::yolo_heads:
      for (const std::size_t head : reading.outputs) read_head(of_picture(outputs[head], seen), seen, found);
      break;
    case OutputForm::final_rows: read_final_rows(of_picture(outputs[reading.outputs.at(0)], seen), seen, found); break;
    case OutputForm::final_boxes: read_final_boxes(reading, outputs, seen, found); break;
    case OutputForm::scored_boxes: read_scored_boxes(reading, outputs, seen, found); break;
    default: fail(Code::internal, "outputs of the form '{}' hold no boxes", description(reading.form));
  }
  return suppress_overlaps(on_picture(std::move(found).take(), seen), limits);
}

}  // namespace tessera::vision
