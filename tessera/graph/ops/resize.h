#pragma once

// Inputs x, optional roi, optional scales, optional sizes (exactly one of scales and sizes).

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Resize {
  static constexpr std::string_view kName = "Resize";

  enum class Mode : std::uint8_t { nearest, linear, cubic };
  enum class Coordinates : std::uint8_t {
    half_pixel,
    half_pixel_symmetric,
    pytorch_half_pixel,
    align_corners,
    asymmetric,
    tf_half_pixel_for_nn,
    tf_crop_and_resize
  };
  enum class Nearest : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
  enum class Aspect : std::uint8_t { stretch, not_larger, not_smaller };
  Mode mode = Mode::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Nearest nearest = Nearest::round_prefer_floor;
  Aspect aspect = Aspect::stretch;
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;
  float extrapolation_value = 0;
  std::vector<std::int64_t> axes = {};  // that roi, scales and sizes speak of; empty: all

  bool operator==(const Resize&) const = default;
};

TSR_API std::vector<TensorType> infer(const Resize& op, const Knowns& inputs);
TSR_API Work work(const Resize& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Resize& op, const Arrays& inputs);

}  // namespace tessera
