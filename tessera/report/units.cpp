#include "tessera/report/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

namespace tessera {
namespace {

constexpr std::array<std::string_view, 7> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
constexpr std::array<std::string_view, 7> kDecimal = {"", "k", "M", "G", "T", "P", "E"};
constexpr std::array<std::string_view, 4> kTime = {"ns", "us", "ms", "s"};

int decimals_for(double magnitude) { return magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2; }

double rounded(double magnitude) {
  const double scale = std::pow(10.0, decimals_for(magnitude));
  return std::round(magnitude * scale) / scale;
}

// The largest step that keeps the number at 1 or more; what rounds up to a whole step takes the next one.
std::string scaled(double number, double base, std::span<const std::string_view> steps, std::string_view unit) {
  if (!std::isfinite(number)) return fmt::format("{} {}{}", number, steps.front(), unit);
  double magnitude = std::abs(number);
  std::size_t step = 0;
  while (step + 1 < steps.size() && rounded(magnitude) >= base) {
    magnitude /= base;
    ++step;
  }
  std::string digits = fmt::format("{:.{}f}", magnitude, decimals_for(rounded(magnitude)));
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  const bool negative = number < 0 && digits != "0";
  return fmt::format("{}{} {}{}", negative ? "-" : "", digits, steps[step], unit);
}

}  // namespace

std::string format_bytes(double bytes) { return scaled(bytes, 1024, kBinary, "B"); }
std::string format_byte_rate(double bytes_per_s) { return scaled(bytes_per_s, 1000, kDecimal, "B/s"); }
std::string format_flop_rate(double flop_per_s) { return scaled(flop_per_s, 1000, kDecimal, "FLOP/s"); }
std::string format_frequency(double hz) { return scaled(hz, 1000, kDecimal, "Hz"); }
std::string format_time(double ns) { return scaled(ns, 1000, kTime, ""); }

std::string format_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string format_number(double number) { return fmt::format("{:.6g}", number); }

std::string format_quantity(double value, std::string_view unit) {
  if (unit == "B") return format_bytes(value);
  if (unit == "B/s") return format_byte_rate(value);
  if (unit == "FLOP/s") return format_flop_rate(value);
  if (unit == "OP/s") return scaled(value, 1000, kDecimal, "OP/s");
  if (unit == "Hz") return format_frequency(value);
  if (unit == "ns") return format_time(value);
  return unit.empty() ? format_number(value) : fmt::format("{} {}", format_number(value), unit);
}

}  // namespace tessera
