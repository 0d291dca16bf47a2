#include "tessera/core/error.h"
#include "tessera/vision/answers.h"
#include "tessera/vision/internal/font.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace tessera {
namespace {

using Colour = std::array<std::uint8_t, 3>;

constexpr Colour kWhite{255, 255, 255}, kBlack{0, 0, 0};
constexpr std::int64_t kLettersPerSide = 60;  // a label of so many letters crosses a picture
constexpr std::size_t kCaptions = 3;

// Neighbouring classes have hues that are far apart: steps of the golden angle.
Colour class_colour(std::int64_t index) {
  const double hue = std::fmod(static_cast<double>(index) * 137.50776, 360) / 60;
  const auto channel = [&](double shift) {
    const double at = std::fmod(hue + shift, 6);
    const double strength = std::clamp(std::min(at, 4 - at), 0.0, 1.0);
    return static_cast<std::uint8_t>(std::lround(235 - 190 * strength));
  };
  return {channel(5), channel(3), channel(1)};
}

bool is_dark(const Colour& colour) { return 299 * colour[0] + 587 * colour[1] + 114 * colour[2] < 140'000; }

class Canvas {
 public:
  explicit Canvas(Image& image) : image_(image) {}

  void fill(std::int64_t left, std::int64_t top, std::int64_t right, std::int64_t bottom, const Colour& colour) {
    for (std::int64_t y = std::max<std::int64_t>(0, top); y < std::min(bottom, image_.height); ++y)
      for (std::int64_t x = std::max<std::int64_t>(0, left); x < std::min(right, image_.width); ++x)
        std::copy(colour.begin(), colour.end(), image_.pixel(x, y));
  }

  void frame(std::int64_t left, std::int64_t top, std::int64_t right, std::int64_t bottom, std::int64_t thickness,
             const Colour& colour) {
    fill(left, top, right, top + thickness, colour);
    fill(left, bottom - thickness, right, bottom, colour);
    fill(left, top, left + thickness, bottom, colour);
    fill(right - thickness, top, right, bottom, colour);
  }

  // On a ground of the colour, its upper left corner there; kept within the picture where it has room.
  void label(std::int64_t x, std::int64_t y, const std::string& text, std::int64_t dot, const Colour& ground) {
    const std::int64_t width = (std::ssize(text) * (vision::kGlyphWidth + 1) + 1) * dot;
    const std::int64_t height = (vision::kGlyphHeight + 2) * dot;
    x = std::max<std::int64_t>(0, std::min(x, image_.width - width));
    y = std::max<std::int64_t>(0, std::min(y, image_.height - height));
    fill(x, y, x + width, y + height, ground);
    const Colour ink = is_dark(ground) ? kWhite : kBlack;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const vision::GlyphRows rows = vision::glyph(text[i]);
      const std::int64_t at = x + (static_cast<std::int64_t>(i) * (vision::kGlyphWidth + 1) + 1) * dot;
      for (std::int64_t row = 0; row < vision::kGlyphHeight; ++row)
        for (std::int64_t column = 0; column < vision::kGlyphWidth; ++column)
          if ((rows[static_cast<std::size_t>(row)] >> (vision::kGlyphWidth - 1 - column) & 1) != 0)
            fill(at + column * dot, y + (row + 1) * dot, at + (column + 1) * dot, y + (row + 2) * dot, ink);
    }
  }

 private:
  Image& image_;
};

std::string shown(const std::string& label, std::int64_t index) {
  return label.empty() ? fmt::format("class {}", index) : label;
}

void draw_boxes(Image& image, const Answers& answers, std::int64_t dot) {
  Canvas canvas(image);
  // The surest is drawn last, over the others.
  for (auto box = answers.boxes.rbegin(); box != answers.boxes.rend(); ++box) {
    const Colour colour = class_colour(box->index);
    const std::int64_t left = std::llround(box->left), top = std::llround(box->top);
    canvas.frame(left, top, std::max<std::int64_t>(left + 1, std::llround(box->right)),
                 std::max<std::int64_t>(top + 1, std::llround(box->bottom)), std::max<std::int64_t>(1, dot), colour);
    canvas.label(left, top - (vision::kGlyphHeight + 2) * dot,
                 fmt::format("{} {:.2f}", shown(box->label, box->index), box->score), dot, colour);
  }
}

void draw_mask(Image& image, const Mask& mask) {
  check(mask.width == image.width && mask.height == image.height, Code::invalid_argument,
        "a mask of {} x {} pixels does not fit a picture of {} x {}", mask.width, mask.height, image.width,
        image.height);
  for (std::size_t i = 0; i < mask.classes.size(); ++i) {
    if (mask.classes[i] == 0 || mask.classes[i] == Mask::kUnseen) continue;  // class 0 is the background
    const Colour colour = class_colour(mask.classes[i]);
    for (std::size_t c = 0; c < 3; ++c)
      image.rgb[i * 3 + c] = static_cast<std::uint8_t>((image.rgb[i * 3 + c] + colour[c] + 1) / 2);
  }
}

// The classes are below the picture: nothing of it is hidden, however small it is.
Image with_captions(const Image& image, const Answers& answers, std::int64_t dot) {
  std::vector<std::string> lines;
  std::int64_t letters = 1;
  for (std::size_t i = 0; i < std::min(kCaptions, answers.classes.size()); ++i) {
    const RankedClass& one = answers.classes[i];
    lines.push_back(fmt::format("{} {:.2f}", shown(one.label, one.index), one.probability));
    letters = std::max(letters, static_cast<std::int64_t>(lines.back().size()));
  }
  const std::int64_t line = (vision::kGlyphHeight + 2) * dot;
  const std::int64_t width = std::max(image.width, (letters * (vision::kGlyphWidth + 1) + 1) * dot);
  Image out(width, image.height + line * std::ssize(lines), 255);
  for (std::int64_t y = 0; y < image.height; ++y) std::copy_n(image.pixel(0, y), image.width * 3, out.pixel(0, y));
  Canvas canvas(out);
  for (std::size_t i = 0; i < lines.size(); ++i)
    canvas.label(0, image.height + static_cast<std::int64_t>(i) * line, lines[i], dot, kWhite);
  return out;
}

}  // namespace

Image draw_answers(const Image& image, const Answers& answers) {
  Image out = image;
  const std::int64_t dot =
      std::max<std::int64_t>(1, std::min(image.width, image.height) / (kLettersPerSide * (vision::kGlyphWidth + 1)));
  if (answers.mask) draw_mask(out, *answers.mask);
  draw_boxes(out, answers, dot);
  return answers.classes.empty() ? out : with_captions(out, answers, dot);
}

}  // namespace tessera
