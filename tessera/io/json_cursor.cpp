#include "tessera/io/json_cursor.h"

#include "tessera/core/text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace tessera::io {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostDepth = 32;
constexpr std::size_t kMostShown = 60;

template <class AnyJson>
std::string dump_line(const AnyJson& json) {
  return json.dump(-1, ' ', false, AnyJson::error_handler_t::replace);
}

std::string shortened(std::string text) {
  if (text.size() <= kMostShown) return text;
  std::size_t end = kMostShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not within a character
  return text.substr(0, end) + "...";
}

// The parser goes any depth, but what walks the result afterwards does so by recursion.
void check_depth(std::string_view text, std::string_view what) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      check(++depth <= kMostDepth, Code::parse, "{}: nested deeper than {} levels", what, kMostDepth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
}

// In one line, with a space after colons and commas.
void append_line(const OrderedJson& json, std::string& out) {
  if (!json.is_structured()) {
    out += dump_line(json);
    return;
  }
  out += json.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    if (!first) out += ", ";
    first = false;
    if (json.is_object()) out.append(dump_line(OrderedJson(key))).append(": ");
    append_line(value, out);
  }
  out += json.is_object() ? '}' : ']';
}

void append_lines(const OrderedJson& json, std::size_t indent, std::size_t before, std::size_t columns,
                  std::string& out) {
  const std::size_t start = out.size();
  append_line(json, out);
  if (!json.is_structured() || json.empty() || before + (out.size() - start) + 1 <= columns) return;
  out.resize(start);
  out += json.is_object() ? "{\n" : "[\n";
  std::size_t left = json.size();
  for (const auto& [key, value] : json.items()) {
    out.append(indent + 1, ' ');
    std::size_t used = indent + 1;
    if (json.is_object()) {
      const std::string quoted = dump_line(OrderedJson(key)) + ": ";
      used += quoted.size();
      out += quoted;
    }
    append_lines(value, indent + 1, used, columns, out);
    out += --left > 0 ? ",\n" : "\n";
  }
  out.append(indent, ' ');
  out += json.is_object() ? '}' : ']';
}

}  // namespace

std::string JsonCursor::found() const {
  if (json_->is_object()) return fmt::format("an object of {}", json_->size());
  if (json_->is_array()) return fmt::format("a list of {}", json_->size());
  return shortened(dump_line(*json_));
}

JsonCursor JsonCursor::at(std::string_view key) const {
  std::optional<JsonCursor> member = find(key);
  check(member.has_value(), Code::parse, "{}{}{} is missing", path_, path_.empty() ? "" : ".", key);
  return std::move(*member);
}

std::optional<JsonCursor> JsonCursor::find(std::string_view key) const {
  check(json_->is_object(), Code::parse, "{} is {}, which is no object", path_, found());
  const auto member = json_->find(key);
  if (member == json_->end()) return std::nullopt;
  return JsonCursor(*member, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

void JsonCursor::only(std::span<const std::string_view> keys) const {
  check(json_->is_object(), Code::parse, "{} is {}, which is no object", path_, found());
  for (const auto& [key, value] : json_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::vector<std::string> names(keys.begin(), keys.end());
    fail(Code::parse, Hint{fmt::format("there are {}", fmt::join(names, ", "))}, "{}{}{} is no field of a plan{}",
         path_, path_.empty() ? "" : ".", shortened(key), did_you_mean(key.substr(0, kMostShown), names));
  }
}

std::vector<JsonCursor> JsonCursor::items() const {
  check(json_->is_array(), Code::parse, "{} is {}, which is no list", path_, found());
  std::vector<JsonCursor> out;
  out.reserve(json_->size());
  for (std::size_t i = 0; i < json_->size(); ++i) out.emplace_back((*json_)[i], fmt::format("{}[{}]", path_, i));
  return out;
}

std::string JsonCursor::text() const {
  check(json_->is_string(), Code::parse, "{} is {}, which is no text", path_, found());
  return json_->get<std::string>();
}

bool JsonCursor::flag() const {
  check(json_->is_boolean(), Code::parse, "{} is {}, which is neither true nor false", path_, found());
  return json_->get<bool>();
}

std::int64_t JsonCursor::whole(std::int64_t least, std::int64_t most) const {
  check(json_->is_number_integer(), Code::parse, "{} is {}, which is no whole number", path_, found());
  const bool fits = json_->is_number_unsigned()
                        ? std::in_range<std::int64_t>(json_->get<std::uint64_t>()) &&
                              json_->get<std::int64_t>() >= least && json_->get<std::int64_t>() <= most
                        : json_->get<std::int64_t>() >= least && json_->get<std::int64_t>() <= most;
  check(fits, Code::parse, "{} is {}, which is not from {} to {}", path_, found(), least, most);
  return json_->get<std::int64_t>();
}

double JsonCursor::real(double least) const {
  check(json_->is_number(), Code::parse, "{} is {}, which is no number", path_, found());
  const double value = json_->get<double>();
  check(std::isfinite(value) && value >= least, Code::parse, "{} is {}, which is no number from {} on", path_, found(),
        least);
  return value;
}

std::vector<std::string> JsonCursor::texts() const {
  std::vector<std::string> out;
  for (const JsonCursor& item : items()) out.push_back(item.text());
  return out;
}

nlohmann::json parse_json_object(std::string_view text, std::string_view what) {
  check_depth(text, what);
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    fail(Code::parse, "{}: this is no JSON: {}", what, error.what());
  }
  check(json.is_object(), Code::parse, "{}: this is no JSON object", what);
  return json;
}

std::string json_text(const nlohmann::ordered_json& json, std::size_t columns) {
  std::string out;
  append_lines(json, 0, 0, columns, out);
  return out + "\n";
}

}  // namespace tessera::io
