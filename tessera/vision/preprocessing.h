#pragma once

// How a picture becomes the input of a network: its size, the order of its numbers, and their range.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/tensor_type.h"
#include "tessera/vision/image.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// What happens to a picture whose sides are in another proportion than the input's.
enum class Fit : std::uint8_t {
  stretch,  // each side is scaled by itself
  crop,     // scaled until it covers the input, and the middle is taken
  pad,      // scaled until it fits into the input, and the rest is filled
};
enum class Filter : std::uint8_t { nearest, bilinear, bicubic };
enum class ChannelOrder : std::uint8_t { rgb, bgr, gray };
enum class InputLayout : std::uint8_t { nchw, nhwc };

TSR_API std::string_view name(Fit fit);
TSR_API std::string_view name(Filter filter);
TSR_API std::string_view name(ChannelOrder order);
TSR_API std::string_view name(InputLayout layout);

struct Preprocessing {
  Fit fit = Fit::stretch;
  // Of the input, where the network leaves its extents open; 0: not said.
  std::int64_t width = 0, height = 0;
  // Fit::crop: this part of the shorter side is kept, or that side is scaled to `resize` pixels first (0: not said).
  double crop = 1;
  std::int64_t resize = 0;
  std::uint8_t fill = 0;  // Fit::pad
  Filter filter = Filter::bilinear;
  std::optional<ChannelOrder> channels{};  // none: rgb, or gray where the input has one channel
  std::optional<InputLayout> layout{};     // none: where the input has 1 or 3 channels
  std::array<double, 2> range{0, 1};       // what 0 and 255 become
  std::vector<double> mean{}, std{};       // then (x - mean) / std: none, one, or one for each channel
  // The network reads light strokes on black. A picture with a light border is inverted first; what is empty around
  // the strokes is cut off; the lightest pixel becomes white.
  bool strokes = false;

  bool operator==(const Preprocessing&) const = default;
};

// "imagenet" (the middle 7/8, as 224 of 256 pixels; mean and standard deviation of ImageNet), "yolo" (pad with grey
// 114, 0 to 1).
TSR_API Preprocessing preprocessing_preset(std::string_view name);
TSR_API std::vector<std::string> preprocessing_presets();

// TOML with the names of the fields: `size = [640, 480]` is width and height; `preset = "imagenet"` is where the others
// begin from. Unknown keys are Errors.
TSR_API Preprocessing parse_preprocessing(std::string_view toml, std::string_view file = "preprocessing");
// A preset's name, or a TOML file.
TSR_API Preprocessing load_preprocessing(const std::string& preset_or_file);
// One field as text, as a command line has it: ("mean", "0.5,0.5,0.5"), ("size", "640x480").
TSR_API void set_preprocessing_field(Preprocessing& preprocessing, std::string_view field, const std::string& text);
TSR_API std::string to_toml(const Preprocessing& preprocessing);

// What one input of a network takes.
struct PictureInput {
  ElementType type = ElementType::float32;
  InputLayout layout = InputLayout::nchw;
  ChannelOrder channels = ChannelOrder::rgb;
  bool batched = true;  // [N, ...]; otherwise one picture without that extent
  std::int64_t batch = 1, width = 0, height = 0;

  TSR_API Shape shape() const;
};

// An Error for an input that takes no pictures, or whose size neither says.
TSR_API PictureInput picture_input(const TensorType& type, const Preprocessing& preprocessing);

// Where a picture lies in the input: input = picture * scale + offset, in pixels.
struct Placement {
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;

  double picture_x(double input_x) const { return (input_x - offset_x) / scale_x; }
  double picture_y(double input_y) const { return (input_y - offset_y) / scale_y; }
};

struct PreparedPicture {
  Array values;  // of one picture, without the extent of the batch
  Placement placement;
};

TSR_API PreparedPicture prepare_picture(const Image& image, const PictureInput& input,
                                        const Preprocessing& preprocessing);

}  // namespace tessera
