#include "number_argument.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace tessera::cli {
namespace {

template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `allowed` is true of values that may be.
template <class Number, class Allowed>
CLI::Validator number_that(Allowed allowed, std::string what, std::string shown) {
  return CLI::Validator(
      [allowed, what = std::move(what)](std::string& text) {
        const std::optional<Number> value = number_of<Number>(text);
        return value && allowed(*value) ? std::string() : fmt::format("'{}' is no {}", text, what);
      },
      std::move(shown));
}

}  // namespace

CLI::Validator number_from(double least) {
  return number_that<double>([least](double v) { return std::isfinite(v) && v >= least; },
                             fmt::format("number from {} on", least), fmt::format("FLOAT from {}", least));
}

CLI::Validator positive_number() {
  return number_that<double>([](double v) { return std::isfinite(v) && v > 0; }, "number above 0", "FLOAT above 0");
}

CLI::Validator number_between(double least, double most) {
  return number_that<double>([least, most](double v) { return v >= least && v <= most; },  // false of NaN
                             fmt::format("number from {} to {}", least, most),
                             fmt::format("FLOAT in [{} - {}]", least, most));
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const bool open = most == std::numeric_limits<std::int64_t>::max();
  return number_that<std::int64_t>(
      [least, most](std::int64_t v) { return v >= least && v <= most; },
      open ? fmt::format("whole number from {} on", least) : fmt::format("whole number from {} to {}", least, most),
      open ? fmt::format("INT from {}", least) : fmt::format("INT in [{} - {}]", least, most));
}

CLI::Validator seed_number() {
  return number_that<std::uint64_t>([](std::uint64_t) { return true; }, "whole number from 0 to 2^64 - 1", "UINT");
}

}  // namespace tessera::cli
