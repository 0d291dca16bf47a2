#pragma once

// What a network's outputs mean: recognised by their number, shapes, types and names.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/tensor_type.h"
#include "tessera/vision/answers.h"
#include "tessera/vision/preprocessing.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::vision {

enum class OutputForm : std::uint8_t {
  scores,        // [N, classes]
  yolo_columns,  // [N, 4 + classes, boxes]: centre, extents, a score for each class (YOLOv8 and later)
  yolo_rows,     // [N, boxes, 5 + classes]: with a score for there being anything at all (YOLOv5, YOLOX)
  yolo_heads,    // [N, 64 + classes, h, w] for each stride: sides as distributions of 16 bins
  final_rows,    // [N, boxes, 6]: corners, score, class; nothing is left to suppress (YOLOv10)
  final_boxes,   // boxes [N, boxes, 4], scores and classes [N, boxes] (SSD, Faster R-CNN)
  scored_boxes,  // boxes [N, boxes, 4] and scores [N, boxes, classes], of which the first is background (SSD)
  mask_scores,   // [N, classes, h, w]
  mask_classes,  // whole numbers [N, h, w] or [N, 1, h, w]
};

std::string_view description(OutputForm form);
Task task_of(OutputForm form);

struct NamedOutput {
  std::string name;
  TensorType type;
};

struct OutputReading {
  OutputForm form = OutputForm::scores;
  // Positions of the outputs that count: of all heads, or of boxes, scores, classes and number in this order.
  std::vector<std::size_t> outputs{};
  std::int64_t classes = 0;  // 0: unknown
  bool corners_yx = false;   // boxes are top, left, bottom, right
};

// What the outputs mean; nothing where no form fits. `labels`: how many classes have names, which tells apart forms
// that look alike; 0: nobody has said. `task`: only forms of it.
std::optional<OutputReading> read_outputs(std::span<const NamedOutput> outputs, const PictureInput& input,
                                          std::size_t labels, std::optional<Task> task);

// The Error for outputs that nobody can read, with what is known.
[[noreturn]] void refuse_outputs(std::span<const NamedOutput> outputs, std::optional<Task> task);

}  // namespace tessera::vision
