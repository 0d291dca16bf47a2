#pragma once

#include "tessera/core/export.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// Insertions, deletions, substitutions and swaps of neighbours that turn a into b.
TSR_API std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `text` was probably meant to be; nothing if all are too different to be a slip of the fingers.
TSR_API std::optional<std::string> closest(std::string_view text, std::span<const std::string> candidates);

// Whether a text is UTF-8 without control characters, but for tabs and, with `lines`, ends of lines.
TSR_API bool is_printable(std::string_view text, bool lines = false);
// The text, and \xNN for each byte that keeps it from being so: what a file says cannot move a terminal's cursor.
TSR_API std::string printable(std::string_view text, bool lines = false);

// "1 spill", "2 spills", "2 boxes".
TSR_API std::string counted_noun(std::int64_t count, std::string_view noun);
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  return counted_noun(static_cast<std::int64_t>(count), noun);
}

// "; did you mean 'x'?" or "".
TSR_API std::string did_you_mean(std::string_view text, std::span<const std::string> candidates);

}  // namespace tessera
