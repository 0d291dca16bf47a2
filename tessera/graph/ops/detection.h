#pragma once

// Boxes and sampling at points between pixels.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Inputs boxes, scores, optional max_output_boxes_per_class, iou_threshold, score_threshold.
struct NonMaxSuppression {
  static constexpr std::string_view kName = "NonMaxSuppression";

  bool center_point_box = false;

  bool operator==(const NonMaxSuppression&) const = default;
};

TSR_API std::vector<TensorType> infer(const NonMaxSuppression& op, const Knowns& inputs);
TSR_API Work work(const NonMaxSuppression& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const NonMaxSuppression& op, const Arrays& inputs);

// Inputs x, rois, batch_indices.
struct RoiAlign {
  static constexpr std::string_view kName = "RoiAlign";

  bool max = false;
  bool half_pixel = true;
  std::int64_t output_height = 1;
  std::int64_t output_width = 1;
  std::int64_t sampling_ratio = 0;
  float spatial_scale = 1;

  bool operator==(const RoiAlign&) const = default;
};

TSR_API std::vector<TensorType> infer(const RoiAlign& op, const Knowns& inputs);
TSR_API Work work(const RoiAlign& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const RoiAlign& op, const Arrays& inputs);

struct GridSample {
  static constexpr std::string_view kName = "GridSample";

  enum class Mode : std::uint8_t { linear, nearest, cubic };
  enum class Padding : std::uint8_t { zeros, border, reflection };
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;

  bool operator==(const GridSample&) const = default;
};

TSR_API std::vector<TensorType> infer(const GridSample& op, const Knowns& inputs);
TSR_API Work work(const GridSample& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const GridSample& op, const Arrays& inputs);

}  // namespace tessera
