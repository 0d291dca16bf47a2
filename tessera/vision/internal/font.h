#pragma once

// Letters of 5 by 7 dots, for labels on pictures.

#include <array>
#include <cstdint>

namespace tessera::vision {

constexpr std::int64_t kGlyphWidth = 5, kGlyphHeight = 7;

// From the top; the highest of 5 bits is the leftmost dot.
using GlyphRows = std::array<std::uint8_t, kGlyphHeight>;

// A letter that is not drawn here is an empty box.
GlyphRows glyph(char letter);

}  // namespace tessera::vision
