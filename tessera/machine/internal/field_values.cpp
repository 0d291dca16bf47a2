// The readers of single values: which types a key accepts, and which numbers make sense.

#include "tessera/core/text.h"
#include "tessera/machine/internal/field_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::internal {
namespace {

std::string list_text(std::span<const double> numbers) { return fmt::format("{}", fmt::join(numbers, ", ")); }

}  // namespace

bool FieldReader::obeys(double number, Rule rule, const Document& document, const toml::node& node,
                        std::string_view key) {
  const auto refuse = [&](std::string_view what) {
    add_problem(document, node.source(), fmt::format("'{}' is {}, but it must be {}", key, number, what));
    return false;
  };
  if (!std::isfinite(number)) return refuse("a finite number");
  if (rule == Rule::not_negative && number < 0) return refuse("0 or more");
  if (rule == Rule::positive && number <= 0) return refuse("more than 0");
  if (rule == Rule::power_of_two && (number < 1 || std::exp2(std::round(std::log2(number))) != number))
    return refuse("a power of two");
  return true;
}

std::optional<double> FieldReader::real(const Document& document, const toml::node& node, std::string_view key,
                                        Rule rule) {
  const std::optional<double> number = node.is_number() ? node.value<double>() : std::nullopt;
  if (!number) {
    add_problem(document, node.source(), fmt::format("'{}' must be a number, not {}", key, type_name(node)));
    return std::nullopt;
  }
  if (!obeys(*number, rule, document, node, key)) return std::nullopt;
  // Rates divide and multiply: further out, times of a second become infinite or nothing.
  constexpr double kLeast = 1e-15, kMost = 1e21;
  if (*number != 0 && (std::abs(*number) < kLeast || std::abs(*number) > kMost)) {
    add_problem(document, node.source(), fmt::format("'{}' is {}, which is beyond reason", key, *number));
    return std::nullopt;
  }
  return number;
}

std::optional<std::int64_t> FieldReader::integer(const Found& found, std::string_view key, Rule rule) {
  if (!found.node->is_integer()) {
    add_problem(*found.document, found.node->source(),
                fmt::format("'{}' must be a whole number, not {}", key, type_name(*found.node)));
    return std::nullopt;
  }
  const std::int64_t number = found.node->as_integer()->get();
  if (!obeys(static_cast<double>(number), rule, *found.document, *found.node, key)) return std::nullopt;
  // Sizes are added and multiplied with counts; 2^48 (256 TiB) keeps all of that far from overflow.
  if (number > (std::int64_t{1} << 48)) {
    add_problem(*found.document, found.node->source(), fmt::format("'{}' is {}, which is beyond reason", key, number));
    return std::nullopt;
  }
  return number;
}

std::optional<std::vector<double>> FieldReader::reals(const Found& found, std::string_view key, std::size_t count,
                                                      Rule rule) {
  const toml::array* array = found.node->as_array();
  const std::string expected = count ? fmt::format("{} numbers", count) : "one or more numbers";
  if (!array || (count ? array->size() != count : array->empty())) {
    add_problem(*found.document, found.node->source(),
                fmt::format("'{}' must be an array of {}, not {}", key, expected,
                            array ? fmt::format("of {}", array->size()) : std::string(type_name(*found.node))));
    return std::nullopt;
  }
  std::vector<double> numbers;
  for (const toml::node& element : *array)
    if (const std::optional<double> number = real(*found.document, element, key, rule)) numbers.push_back(*number);
  if (numbers.size() != array->size()) return std::nullopt;
  return numbers;
}

std::optional<std::string> FieldReader::text(const Found& found, const toml::node& node, std::string_view key) {
  if (node.is_string() && !node.as_string()->get().empty()) return node.as_string()->get();
  add_problem(*found.document, node.source(),
              fmt::format("'{}' must be text, not {}", key, node.is_string() ? "empty" : type_name(node)));
  return std::nullopt;
}

void FieldReader::value(std::string_view key, std::string& out) {
  const std::optional<Found> found = find(key, true);
  const std::optional<std::string> said = found ? text(*found, *found->node, key) : std::nullopt;
  if (!said) return;
  out = *said;
  add_figure(*found, key, out, "");
}

void FieldReader::value(std::string_view key, std::optional<std::string>& out) {
  const std::optional<Found> found = find(key, false);
  if (!found) return;
  out = text(*found, *found->node, key);
  if (out) add_figure(*found, key, *out, "");
}

void FieldReader::value(std::string_view key, std::optional<Isa>& out) {
  std::optional<std::string> said;
  const std::optional<Found> found = find(key, false);
  if (found) said = text(*found, *found->node, key);
  if (!said) return;
  out = parse_isa(*said);
  if (out) return add_figure(*found, key, *said, "");
  std::vector<std::string> known;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx})
    known.emplace_back(name(isa));
  add_problem(*found->document, found->node->source(),
              fmt::format("'{}' is '{}', but it must be one of {}{}", key, *said, fmt::join(known, ", "),
                          did_you_mean(*said, known)));
}

void FieldReader::value(std::string_view key, std::vector<std::string>& out) {
  const std::optional<Found> found = find(key, false);
  if (!found) return;
  const toml::array* array = found->node->as_array();
  if (!array)
    return add_problem(*found->document, found->node->source(),
                       fmt::format("'{}' must be an array of texts, not {}", key, type_name(*found->node)));
  std::vector<std::string> texts;
  for (const toml::node& element : *array)
    if (auto said = text(*found, element, key)) texts.push_back(std::move(*said));
  if (texts.size() != array->size()) return;
  out = std::move(texts);
  add_figure(*found, key, fmt::format("{}", fmt::join(out, ", ")), "");
}

void FieldReader::value(std::string_view key, std::vector<IntRange>& out) {
  const std::optional<Found> found = find(key, false);
  if (!found) return;
  const toml::array* array = found->node->as_array();
  if (!array || array->empty())
    return add_problem(*found->document, found->node->source(),
                       fmt::format("'{}' must be an array of [first, last] pairs, not {}", key,
                                   array ? "empty" : type_name(*found->node)));
  std::vector<IntRange> ranges;
  std::string shown;
  for (const toml::node& element : *array) {
    const toml::array* pair = element.as_array();
    if (!pair || pair->size() != 2)
      return add_problem(*found->document, element.source(),
                         fmt::format("'{}' must be an array of [first, last] pairs", key));
    Found end = *found;
    end.node = pair->get(0);
    const std::optional<int> first = small_integer(end, key, Rule::not_negative);
    end.node = pair->get(1);
    const std::optional<int> last = small_integer(end, key, Rule::not_negative);
    if (!first || !last) return;
    if (*first > *last)
      return add_problem(*found->document, element.source(),
                         fmt::format("'{}' has a range that begins at {} and ends at {}", key, *first, *last));
    ranges.push_back({*first, *last});
    shown += fmt::format("{}{} to {}", shown.empty() ? "" : ", ", *first, *last);
  }
  out = std::move(ranges);
  add_figure(*found, key, std::move(shown), "");
}

void FieldReader::value(std::string_view key, bool& out) {
  const std::optional<Found> found = find(key, true);
  if (!found) return;
  if (!found->node->is_boolean()) {
    add_problem(*found->document, found->node->source(),
                fmt::format("'{}' must be true or false, not {}", key, type_name(*found->node)));
    return;
  }
  out = found->node->as_boolean()->get();
  add_figure(*found, key, out, "");
}

std::optional<int> FieldReader::small_integer(const Found& found, std::string_view key, Rule rule) {
  const std::optional<std::int64_t> number = integer(found, key, rule);
  if (!number) return std::nullopt;
  if (*number <= 1'000'000 && *number >= -1'000'000) return static_cast<int>(*number);
  add_problem(*found.document, found.node->source(), fmt::format("'{}' is {}, which is beyond reason", key, *number));
  return std::nullopt;
}

void FieldReader::value(std::string_view key, int& out, std::string_view unit, Rule rule) {
  const std::optional<Found> found = find(key, true);
  const std::optional<int> number = found ? small_integer(*found, key, rule) : std::nullopt;
  if (!number) return;
  out = *number;
  add_figure(*found, key, std::int64_t{out}, unit);
}

void FieldReader::value(std::string_view key, std::optional<int>& out, std::string_view unit, Rule rule) {
  const std::optional<Found> found = find(key, false);
  if (!found) return;
  out = small_integer(*found, key, rule);
  if (out) add_figure(*found, key, std::int64_t{*out}, unit);
}

void FieldReader::value(std::string_view key, std::int64_t& out, std::string_view unit, Rule rule) {
  const std::optional<Found> found = find(key, true);
  const std::optional<std::int64_t> number = found ? integer(*found, key, rule) : std::nullopt;
  if (!number) return;
  out = *number;
  add_figure(*found, key, *number, unit);
}

void FieldReader::value(std::string_view key, double& out, std::string_view unit, Rule rule) {
  const std::optional<Found> found = find(key, true);
  const std::optional<double> number = found ? real(*found->document, *found->node, key, rule) : std::nullopt;
  if (!number) return;
  out = *number;
  add_figure(*found, key, *number, unit);
}

void FieldReader::value(std::string_view key, std::optional<std::int64_t>& out, std::string_view unit, Rule rule) {
  const std::optional<Found> found = find(key, false);
  if (!found) return;
  out = integer(*found, key, rule);
  if (out) add_figure(*found, key, *out, unit);
}

void FieldReader::value(std::string_view key, std::optional<double>& out, std::string_view unit, Rule rule) {
  const std::optional<Found> found = find(key, false);
  if (!found) return;
  out = real(*found->document, *found->node, key, rule);
  if (out) add_figure(*found, key, *out, unit);
}

void FieldReader::value(std::string_view key, std::array<double, 4>& out, std::string_view unit, Rule rule) {
  const std::optional<Found> found = find(key, true);
  const auto numbers = found ? reals(*found, key, out.size(), rule) : std::nullopt;
  if (!numbers) return;
  std::copy(numbers->begin(), numbers->end(), out.begin());
  add_figure(*found, key, list_text(*numbers), unit);
}

void FieldReader::value(std::string_view key, TilizeCost& out) {
  const std::optional<Found> found = find(key, true);
  const auto numbers = found ? reals(*found, key, 2, Rule::positive) : std::nullopt;
  if (!numbers) return;
  out = {(*numbers)[0], (*numbers)[1]};
  add_figure(*found, key, list_text(*numbers), "cycles");
}

void FieldReader::value(std::string_view key, SizedRate& out) {
  const std::optional<Found> found = find(key, true);
  const auto numbers = found ? reals(*found, key, 3, Rule::positive) : std::nullopt;
  if (!numbers) return;
  out = {(*numbers)[0], (*numbers)[1], (*numbers)[2]};
  add_figure(*found, key,
             fmt::format("{} GB/s at 16 B, {} GB/s from {} B", out.floor_bytes_per_s / 1e9, out.peak_bytes_per_s / 1e9,
                         out.knee_bytes),
             "");
  require(
      out.floor_bytes_per_s <= out.peak_bytes_per_s, {key},
      fmt::format("'{}' starts at {} B/s, above its peak of {} B/s", key, out.floor_bytes_per_s, out.peak_bytes_per_s));
}

void FieldReader::value(std::string_view key, std::vector<double>& out, std::string_view unit, Rule rule) {
  const std::optional<Found> found = find(key, true);
  auto numbers = found ? reals(*found, key, 0, rule) : std::nullopt;
  if (!numbers) return;
  out = std::move(*numbers);
  add_figure(*found, key, list_text(out), unit);
}

void FieldReader::value(std::string_view key, std::vector<RatePoint>& out, std::string_view unit) {
  const std::optional<Found> found = find(key, true);
  if (!found) return;
  const toml::array* array = found->node->as_array();
  if (!array || array->empty()) {
    add_problem(*found->document, found->node->source(),
                fmt::format("'{}' must be an array of [bytes, rate] pairs, not {}", key,
                            array ? "empty" : type_name(*found->node)));
    return;
  }
  std::string text;
  for (const toml::node& element : *array) {
    Found point = *found;
    point.node = &element;
    const auto pair = reals(point, key, 2, Rule::positive);
    if (!pair) return;
    if (!out.empty() && (*pair)[0] <= out.back().bytes) {
      add_problem(
          *found->document, element.source(),
          fmt::format("'{}' must list sizes in rising order, but {} follows {}", key, (*pair)[0], out.back().bytes));
      return;
    }
    out.push_back({(*pair)[0], (*pair)[1]});
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", (*pair)[0], (*pair)[1]);
  }
  add_figure(*found, key, std::move(text), unit);
}

}  // namespace tessera::internal
