#include "tessera/vision/preprocessing.h"

#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/vision/resample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace tessera {
namespace {

constexpr std::int64_t kMostExtent = 16384;
constexpr std::int64_t kMostScaledPixels = std::int64_t{1} << 26;  // of a picture on its way to a smaller input

std::int64_t channel_count(ChannelOrder order) { return order == ChannelOrder::gray ? 1 : 3; }

// The luma of ITU-R 601 in 2^-16, which come to 1 together: grey stays what it is.
int luma(const std::uint8_t* rgb) { return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16; }

struct Region {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
};

// Light strokes on black, and where they are.
Region bring_out_strokes(Image& image) {
  std::int64_t border = 0, count = 0;
  int most = 0, least = 255;
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width; ++x) {
      const int grey = luma(image.pixel(x, y));
      most = std::max(most, grey);
      least = std::min(least, grey);
      if (x != 0 && y != 0 && x != image.width - 1 && y != image.height - 1) continue;
      border += grey;
      ++count;
    }
  Region found{image.width, image.height, 0, 0};
  const bool dark_on_light = border * 2 > count * (most + least);
  const int span = std::max(1, most - least);
  // Fainter than this is noise of the paper or of JPEG.
  const int faint = span / 4;
  std::int64_t last_x = -1, last_y = -1;
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width; ++x) {
      std::uint8_t* pixel = image.pixel(x, y);
      const int grey = luma(pixel), ink = dark_on_light ? most - grey : grey - least;
      const auto value = static_cast<std::uint8_t>(ink * 255 / span);
      std::fill_n(pixel, 3, value);
      if (ink <= faint) continue;
      found.x = std::min(found.x, x);
      found.y = std::min(found.y, y);
      last_x = std::max(last_x, x);
      last_y = std::max(last_y, y);
    }
  if (last_x < 0) return {0, 0, image.width, image.height};  // of one colour
  found.width = last_x - found.x + 1;
  found.height = last_y - found.y + 1;
  return found;
}

Image cut(const Image& image, const Region& region) {
  Image out(region.width, region.height);
  for (std::int64_t y = 0; y < region.height; ++y)
    std::copy_n(image.pixel(region.x, region.y + y), region.width * 3, out.pixel(0, y));
  return out;
}

// The extents that a picture is scaled to, and where it goes in the input: an offset below 0 cuts it.
struct Scaled {
  std::int64_t width = 0, height = 0, x = 0, y = 0;
};

Scaled cropped(const Image& image, const PictureInput& input, const Preprocessing& preprocessing) {
  Scaled to;
  const double shorter_input = static_cast<double>(std::min(input.width, input.height));
  const double zoom =
      preprocessing.resize == 0 ? 1 / preprocessing.crop : static_cast<double>(preprocessing.resize) / shorter_input;
  const double scale = zoom * std::max(static_cast<double>(input.width) / static_cast<double>(image.width),
                                       static_cast<double>(input.height) / static_cast<double>(image.height));
  // The longer side is cut to whole pixels, as torchvision has it.
  to.width = std::max(input.width, static_cast<std::int64_t>(static_cast<double>(image.width) * scale + 1e-6));
  to.height = std::max(input.height, static_cast<std::int64_t>(static_cast<double>(image.height) * scale + 1e-6));
  to.x = -static_cast<std::int64_t>(std::nearbyint(static_cast<double>(to.width - input.width) / 2));
  to.y = -static_cast<std::int64_t>(std::nearbyint(static_cast<double>(to.height - input.height) / 2));
  return to;
}

Scaled padded(const Image& image, const PictureInput& input) {
  Scaled to;
  const double scale = std::min(static_cast<double>(input.width) / static_cast<double>(image.width),
                                static_cast<double>(input.height) / static_cast<double>(image.height));
  const auto scaled = [&](std::int64_t extent) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(extent) * scale));
  };
  to.width = std::min(input.width, scaled(image.width));
  to.height = std::min(input.height, scaled(image.height));
  to.x = (input.width - to.width) / 2;
  to.y = (input.height - to.height) / 2;
  return to;
}

Scaled scaled(const Image& image, const PictureInput& input, const Preprocessing& preprocessing) {
  if (preprocessing.fit == Fit::crop) return cropped(image, input, preprocessing);
  if (preprocessing.fit == Fit::pad) return padded(image, input);
  return {input.width, input.height, 0, 0};
}

// What a pixel value becomes in each channel: all 256 of them.
std::vector<std::array<double, 256>> value_tables(const Preprocessing& preprocessing, std::int64_t channels) {
  const auto of_channel = [&](const std::vector<double>& values, std::int64_t c, double otherwise) {
    if (values.empty()) return otherwise;
    check(values.size() == 1 || static_cast<std::int64_t>(values.size()) == channels, Code::invalid_argument,
          "mean and std have one number, or one for each of {} channels, not {}", channels, values.size());
    return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(c)];
  };
  std::vector<std::array<double, 256>> tables(static_cast<std::size_t>(channels));
  for (std::int64_t c = 0; c < channels; ++c) {
    const double mean = of_channel(preprocessing.mean, c, 0), std = of_channel(preprocessing.std, c, 1);
    check(std != 0, Code::invalid_argument, "std is 0, and values are divided by it");
    for (int v = 0; v < 256; ++v) {
      const double value = preprocessing.range[0] + v / 255.0 * (preprocessing.range[1] - preprocessing.range[0]);
      tables[static_cast<std::size_t>(c)][static_cast<std::size_t>(v)] = (value - mean) / std;
    }
  }
  return tables;
}

template <class T>
T to_element(double value) {
  if constexpr (std::is_same_v<T, std::uint8_t>)
    return static_cast<T>(std::clamp(std::nearbyint(value), 0.0, 255.0));
  else
    return T(static_cast<float>(value));
}

template <class T>
void write_values(const Image& canvas, const PictureInput& input, const Preprocessing& preprocessing, Array& out) {
  const std::int64_t channels = channel_count(input.channels), plane = input.width * input.height;
  std::vector<std::array<T, 256>> tables(static_cast<std::size_t>(channels));
  const auto exact = value_tables(preprocessing, channels);
  for (std::size_t c = 0; c < tables.size(); ++c)
    std::transform(exact[c].begin(), exact[c].end(), tables[c].begin(), to_element<T>);
  const std::span<T> values = out.as<T>();
  const bool interleaved = input.layout == InputLayout::nhwc;
  for (std::int64_t i = 0; i < plane; ++i) {
    const std::uint8_t* rgb = canvas.rgb.data() + i * 3;
    for (std::int64_t c = 0; c < channels; ++c) {
      const int value = channels == 1 ? luma(rgb) : input.channels == ChannelOrder::bgr ? rgb[2 - c] : rgb[c];
      values[static_cast<std::size_t>(interleaved ? i * channels + c : c * plane + i)] =
          tables[static_cast<std::size_t>(c)][static_cast<std::size_t>(value)];
    }
  }
}

}  // namespace

Shape PictureInput::shape() const {
  const std::int64_t c = channel_count(channels);
  std::vector<std::int64_t> dims =
      layout == InputLayout::nchw ? std::vector{c, height, width} : std::vector{height, width, c};
  if (batched) dims.insert(dims.begin(), batch);
  return Shape(std::move(dims));
}

PictureInput picture_input(const TensorType& type, const Preprocessing& preprocessing) {
  const auto refuse = [&](std::string_view why) {
    fail(Code::invalid_argument, Hint{"pictures go to inputs such as float32[1, 3, 224, 224] or uint8[1, 224, 224, 3]"},
         "the input is {}, which takes no picture: {}", type.to_string(), why);
  };
  if (!type.dims) refuse("not even the number of its dimensions is known");
  std::vector<std::int64_t> dims = *type.dims;
  PictureInput input;
  input.type = type.type;
  if (type.type != ElementType::float32 && type.type != ElementType::float16 && type.type != ElementType::bfloat16 &&
      type.type != ElementType::float64 && type.type != ElementType::uint8)
    refuse("its elements are neither floating-point nor uint8");
  input.batched = dims.size() == 4;
  if (dims.size() != 4 && dims.size() != 3) refuse(fmt::format("it has {} dimensions, not 3 or 4", dims.size()));
  if (input.batched) {
    input.batch = dims[0] == TensorType::kUnknown ? 1 : dims[0];
    dims.erase(dims.begin());
  }
  const auto holds_channels = [](std::int64_t extent) { return extent == 1 || extent == 3; };
  if (preprocessing.layout)
    input.layout = *preprocessing.layout;
  else
    input.layout = !holds_channels(dims[0]) && holds_channels(dims[2]) ? InputLayout::nhwc : InputLayout::nchw;
  const bool planes = input.layout == InputLayout::nchw;
  const std::int64_t channels = planes ? dims[0] : dims[2], height = planes ? dims[1] : dims[0],
                     width = planes ? dims[2] : dims[1];
  const bool open = channels == TensorType::kUnknown;
  input.channels = preprocessing.channels.value_or(!open && channels == 1 ? ChannelOrder::gray : ChannelOrder::rgb);
  if (!open && channels != channel_count(input.channels))
    refuse(fmt::format("it has {} channels, and {} pictures have {}", channels, name(input.channels),
                       channel_count(input.channels)));
  const auto extent = [&](std::int64_t of_network, std::int64_t said, std::string_view side) {
    if (of_network == TensorType::kUnknown)
      check(said > 0, Code::invalid_argument, Hint{"--size 640x640 on the command line, `size` in a TOML file"},
            "the network leaves the {} of its input open: {}", side, type.to_string());
    else
      check(said == 0 || said == of_network, Code::invalid_argument,
            "the {} of the input shall be {}, and the network fixes it to {}", side, said, of_network);
    const std::int64_t value = of_network == TensorType::kUnknown ? said : of_network;
    check(value > 0 && value <= kMostExtent, Code::invalid_argument,
          "the {} of the input is {}: pictures are made for 1 to {} pixels", side, value, kMostExtent);
    return value;
  };
  input.width = extent(width, preprocessing.width, "width");
  input.height = extent(height, preprocessing.height, "height");
  return input;
}

PreparedPicture prepare_picture(const Image& image, const PictureInput& input, const Preprocessing& preprocessing) {
  check(!image.empty(), Code::invalid_argument, "there is nothing in the picture");
  Image strokes;
  Region region{0, 0, image.width, image.height};
  const Image* from = &image;
  if (preprocessing.strokes) {
    strokes = image;
    region = bring_out_strokes(strokes);
    strokes = cut(strokes, region);
    from = &strokes;
  }
  check(preprocessing.fit != Fit::crop || preprocessing.resize == 0 ||
            preprocessing.resize >= std::min(input.width, input.height),
        Code::invalid_argument, "resize is {}, less than the {} x {} pixels that are cropped", preprocessing.resize,
        input.width, input.height);
  const Scaled to = scaled(*from, input, preprocessing);
  check(to.width <= kMostExtent * 4 && to.height <= kMostExtent * 4, Code::invalid_argument,
        "a picture of {} x {} pixels would be scaled to {} x {}: its sides differ too much", from->width, from->height,
        to.width, to.height);
  const std::int64_t pixels = to.width * std::max(to.height, from->height);  // rows are scaled first
  const std::int64_t most = std::max(kMostScaledPixels, 4 * input.width * input.height);
  check(pixels <= most, Code::invalid_argument, Hint{"a smaller resize or size, or a smaller picture"},
        "a picture of {} x {} pixels would be scaled to {} x {} for an input of {} x {}: more than {} pixels",
        from->width, from->height, to.width, to.height, input.width, input.height, most);
  const Image picture = resample(*from, to.width, to.height, preprocessing.filter);
  Image canvas(input.width, input.height, preprocessing.fill);
  for (std::int64_t y = std::max<std::int64_t>(0, to.y); y < std::min(input.height, to.y + to.height); ++y) {
    const std::int64_t x = std::max<std::int64_t>(0, to.x), end = std::min(input.width, to.x + to.width);
    std::copy_n(picture.pixel(x - to.x, y - to.y), (end - x) * 3, canvas.pixel(x, y));
  }
  PictureInput one = input;
  one.batched = false;
  PreparedPicture out{Array(input.type, one.shape()), {}};
  switch (input.type) {
    case ElementType::uint8: write_values<std::uint8_t>(canvas, input, preprocessing, out.values); break;
    case ElementType::float32: write_values<float>(canvas, input, preprocessing, out.values); break;
    case ElementType::float64: write_values<double>(canvas, input, preprocessing, out.values); break;
    case ElementType::float16: write_values<Float16>(canvas, input, preprocessing, out.values); break;
    case ElementType::bfloat16: write_values<BFloat16>(canvas, input, preprocessing, out.values); break;
    default: fail(Code::internal, "an input of {} came through", name(input.type));
  }
  Placement& placement = out.placement;
  placement.scale_x = static_cast<double>(to.width) / static_cast<double>(from->width);
  placement.scale_y = static_cast<double>(to.height) / static_cast<double>(from->height);
  placement.offset_x = static_cast<double>(to.x) - static_cast<double>(region.x) * placement.scale_x;
  placement.offset_y = static_cast<double>(to.y) - static_cast<double>(region.y) * placement.scale_y;
  return out;
}

}  // namespace tessera
