#pragma once

// Numbers that a network gives, as answers about one picture.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/vision/answers.h"
#include "tessera/vision/output_form.h"
#include "tessera/vision/preprocessing.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::vision {

struct AnswerLimits {
  std::int64_t top = 5;        // classes that are listed
  double least_score = 0.25;   // of boxes
  double most_overlap = 0.45;  // of two boxes of one class: intersection over union
  std::int64_t most_boxes = 300;
};

// The picture that the outputs are about.
struct Seen {
  std::int64_t width = 0, height = 0;
  Placement placement{};
  PictureInput input{};
  std::int64_t position = 0;  // in the batch
};

Answers read_answers(const OutputReading& reading, std::span<const Array> outputs, const Seen& seen,
                     std::span<const std::string> labels, const AnswerLimits& limits);

// The parts of it. An output of one picture, as numbers of row-major order.
struct Values {
  std::vector<std::int64_t> dims;  // without that of the batch
  std::vector<double> numbers;
};
Values of_picture(const Array& output, const Seen& seen);

std::vector<DetectedBox> read_boxes(const OutputReading& reading, std::span<const Array> outputs, const Seen& seen,
                                    const AnswerLimits& limits, bool& background_first);
void read_mask(const OutputReading& reading, std::span<const Array> outputs, const Seen& seen, Answers& answers);

// The best `count` classes, the first of them the surest. Scores that are no probabilities become some (softmax).
TSR_API std::vector<RankedClass> rank_classes(std::span<const double> scores, std::int64_t count);

// Boxes of one class that overlap more than that leave the surest alone.
std::vector<DetectedBox> suppress_overlaps(std::vector<DetectedBox> boxes, const AnswerLimits& limits);

}  // namespace tessera::vision
