#pragma once

#include "tessera/core/export.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// Insertions, deletions, substitutions and swaps of neighbours that turn a into b.
TSR_API std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `text` was probably meant to be; nothing if all are too different to be a slip of the fingers.
TSR_API std::optional<std::string> closest(std::string_view text, std::span<const std::string> candidates);

// "; did you mean 'x'?" or "".
TSR_API std::string did_you_mean(std::string_view text, std::span<const std::string> candidates);

}  // namespace tessera
