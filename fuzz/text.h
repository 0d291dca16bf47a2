#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::fuzz {

inline std::string_view text_of(std::span<const std::uint8_t> input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

}  // namespace tessera::fuzz
