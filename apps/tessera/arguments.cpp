#include "arguments.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/io/layer_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

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
        return value && allowed(*value) ? std::string() : fmt::format("'{}' is not a {}", text, what);
      },
      std::move(shown));
}

std::int64_t parse_extent(std::string_view text, const std::string& word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc{} && end == text.data() + text.size() && value >= 0, Code::invalid_argument,
        "'{}' in '{}' is not a dimension", text, word);
  return value;
}

std::size_t split_at(const std::string& word, char separator, const char* form) {
  const std::size_t at = word.rfind(separator);
  check(at != std::string::npos && at != 0, Code::invalid_argument, "'{}' is not of the form {}", word, form);
  return at;
}

}  // namespace

CLI::Validator number_from(double least) {
  return number_that<double>([least](double v) { return std::isfinite(v) && v >= least; },
                             fmt::format("number of at least {}", least), fmt::format("FLOAT from {}", least));
}

CLI::Validator positive_number() {
  return number_that<double>([](double v) { return std::isfinite(v) && v > 0; }, "number greater than 0",
                             "FLOAT above 0");
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
      open ? fmt::format("whole number of at least {}", least) : fmt::format("whole number from {} to {}", least, most),
      open ? fmt::format("INT from {}", least) : fmt::format("INT in [{} - {}]", least, most));
}

CLI::Validator seed_number() {
  return number_that<std::uint64_t>([](std::uint64_t) { return true; }, "whole number from 0 to 2^64 - 1", "UINT");
}

ImportOptions parse_import_options(const std::vector<std::string>& shapes, const std::vector<std::string>& dimensions) {
  ImportOptions options;
  for (const std::string& word : shapes) {
    const std::size_t at = split_at(word, ':', "NAME:1x3x224x224");
    std::vector<std::int64_t> dims;
    std::string_view rest = std::string_view(word).substr(at + 1);
    while (!rest.empty() || dims.empty()) {
      const std::size_t end = std::min(rest.find('x'), rest.size());
      if (rest.empty()) break;  // "NAME:" is a scalar
      dims.push_back(parse_extent(rest.substr(0, end), word));
      if (end == rest.size()) break;
      rest.remove_prefix(end + 1);
      check(!rest.empty(), Code::invalid_argument, "'{}' ends with an x", word);
    }
    options.shapes[word.substr(0, at)] = dims;
  }
  for (const std::string& word : dimensions) {
    const std::size_t at = split_at(word, '=', "NAME=8");
    options.dimensions[word.substr(0, at)] = parse_extent(std::string_view(word).substr(at + 1), word);
  }
  return options;
}

bool is_layer_file(std::string_view word) { return word.ends_with(".txt"); }

std::optional<ConvBlock> find_layer(const std::string& word) {
  constexpr std::string_view kEnd = ".txt:";
  const std::size_t at = word.find(kEnd);
  if (at == std::string::npos) return std::nullopt;
  const std::string file = word.substr(0, at + kEnd.size() - 1), wanted = word.substr(at + kEnd.size());
  std::vector<std::string> names;
  for (ConvBlock& layer : load_layers(file)) {
    if (layer.name == wanted) return std::move(layer);
    names.push_back(layer.name);
  }
  fail(Code::not_found, Hint{"`tessera bench FILE.txt` shows the layers of a file"}, "{} has no layer '{}'{}", file,
       wanted, did_you_mean(wanted, names));
}

}  // namespace tessera::cli
