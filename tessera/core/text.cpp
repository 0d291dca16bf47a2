#include "tessera/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

// Whether `text` is a whole word of `name`: 'n150' of 'wormhole_n150'.
bool is_word_of(std::string_view text, std::string_view name) {
  const auto is_end = [&](std::size_t at) {
    return at >= name.size() || std::string_view("_-./: ").find(name[at]) != std::string_view::npos;
  };
  for (std::size_t at = name.find(text); at != std::string_view::npos; at = name.find(text, at + 1))
    if ((at == 0 || is_end(at - 1)) && is_end(at + text.size())) return true;
  return false;
}

// The bytes of the character at the front of a text that is not empty, if people can see it; else 0.
std::size_t visible_bytes(std::string_view text, bool lines) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 ? lead != 0x7F : lead == '\t' || (lines && lead == '\n');
  const std::size_t length = lead >> 5 == 0x6 ? 2 : lead >> 4 == 0xE ? 3 : lead >> 3 == 0x1E ? 4 : 0;
  if (length == 0) return 0;
  char32_t code = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 0x2) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = code >= kLeast[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  const bool control = code < 0xA0 || code == 0x2028 || code == 0x2029 || (code >= 0x202A && code <= 0x202E) ||
                       (code >= 0x2066 && code <= 0x2069);  // and those that turn the direction of writing
  return valid && !control ? length : 0;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = previous;
    previous = row;
  }
  return previous[b.size()];
}

std::optional<std::string> closest(std::string_view text, std::span<const std::string> candidates) {
  // Names here are at most a few dozen characters; anything longer is no slip, and quadratic work on it is waste.
  constexpr std::size_t kLongest = 64;
  if (text.empty() || text.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    // The start of a name counts as a near miss, and a word of it: 'wormhole' or 'n150' for 'wormhole_n150'.
    const bool part = text.size() >= 3 && (candidate.starts_with(text) || is_word_of(text, candidate));
    const std::size_t distance = part ? 1 : edit_distance(text, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

bool is_printable(std::string_view text, bool lines) {
  while (!text.empty()) {
    const std::size_t bytes = visible_bytes(text, lines);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string printable(std::string_view text, bool lines) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = visible_bytes(text, lines);
    if (bytes == 0) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    out += text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

std::string counted_noun(std::int64_t count, std::string_view noun) {
  if (count == 1) return fmt::format("1 {}", noun);
  const bool hisses = noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch") || noun.ends_with("sh");
  return fmt::format("{} {}{}", count, noun, hisses ? "es" : "s");
}

std::string did_you_mean(std::string_view text, std::span<const std::string> candidates) {
  const std::optional<std::string> candidate = closest(text, candidates);
  return candidate ? "; did you mean '" + *candidate + "'?" : "";
}

}  // namespace tessera
