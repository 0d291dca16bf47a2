#include "tessera/core/sha256.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t kBlock = 64;

// The first 32 bits after the point of the square or cube roots of primes, which is how the standard defines its
// constants. Whole numbers only, so that they are exact: the largest r with r^k <= prime * 2^(32k).
std::uint32_t root_fraction(std::uint32_t prime, int k) {
  using Wide = unsigned __int128;
  const auto fits = [&](std::uint64_t r) {
    Wide power = 1;
    for (int i = 0; i < k; ++i) power *= r;
    return power <= (Wide{prime} << (32 * k));
  };
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 37; bit != 0; bit >>= 1)
    if (fits(root | bit)) root |= bit;
  return static_cast<std::uint32_t>(root);
}

struct Constants {
  std::array<std::uint32_t, 8> start{};
  std::array<std::uint32_t, 64> round{};

  Constants() {
    std::size_t found = 0;
    for (std::uint32_t candidate = 2; found < round.size(); ++candidate) {
      bool prime = true;
      for (std::uint32_t d = 2; d * d <= candidate; ++d) prime = prime && candidate % d != 0;
      if (!prime) continue;
      if (found < start.size()) start[found] = root_fraction(candidate, 2);
      round[found++] = root_fraction(candidate, 3);
    }
  }
};

void add_block(std::array<std::uint32_t, 8>& hash, const std::byte* block, const Constants& constants) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 4; ++j) w[i] = (w[i] << 8) | std::to_integer<std::uint32_t>(block[4 * i + j]);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = hash;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants.round[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> sum{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < hash.size(); ++i) hash[i] += sum[i];
}

}  // namespace

std::array<std::byte, 32> sha256(std::span<const std::byte> bytes) {
  static const Constants constants;
  std::array<std::uint32_t, 8> hash = constants.start;
  const std::size_t whole = bytes.size() / kBlock * kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) add_block(hash, bytes.data() + at, constants);
  // The end: a one bit, zeros, and the length in bits as a big-endian 64-bit number.
  std::vector<std::byte> end(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.end());
  end.push_back(std::byte{0x80});
  end.resize((end.size() + 8 + kBlock - 1) / kBlock * kBlock);
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (std::size_t i = 0; i < 8; ++i) end[end.size() - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  for (std::size_t at = 0; at < end.size(); at += kBlock) add_block(hash, end.data() + at, constants);
  std::array<std::byte, 32> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(hash[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

std::string sha256_hex(std::span<const std::byte> bytes, std::size_t digits) {
  check(digits <= 64, Code::invalid_argument, "SHA-256 has 64 hexadecimal digits, not {}", digits);
  std::string text;
  for (const std::byte byte : sha256(bytes)) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text.substr(0, digits);
}

}  // namespace tessera
