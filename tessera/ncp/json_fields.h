#pragma once

// Members of JSON objects, read strictly: errors name the key and what was found.

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/ncp/wiring_spec.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::ncp {

nlohmann::ordered_json to_json(const WiringSpec& spec);
WiringSpec wiring_spec_from(const nlohmann::ordered_json& json);

inline nlohmann::ordered_json parse_object(std::string_view text, std::string_view what) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(text, nullptr, false);
  check(json.is_object(), Code::parse, "{}: this is no JSON object", what);
  return json;
}

inline const nlohmann::ordered_json& member(const nlohmann::ordered_json& json, std::string_view key) {
  check(json.is_object(), Code::parse, "'{}' was looked for in what is no object", key);
  const auto found = json.find(key);
  check(found != json.end(), Code::parse, "'{}' is missing", key);
  return *found;
}

inline void check_keys(const nlohmann::ordered_json& json, std::span<const std::string> known) {
  check(json.is_object(), Code::parse, "'{}' is no object", json.dump());
  for (const auto& [key, value] : json.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail(Code::parse, "there is no field '{}'{}", key, did_you_mean(key, known));
}

template <class T>
T number(const nlohmann::ordered_json& json, std::string_view key) {
  if constexpr (std::integral<T>) {
    check(json.is_number_integer(), Code::parse, "'{}' is {}, which is no whole number", key, json.dump());
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    check(fits, Code::parse, "'{}' is {}, which is out of range", key, json.dump());
  } else {
    check(json.is_number(), Code::parse, "'{}' is {}, which is no number", key, json.dump());
  }
  return json.get<T>();
}

template <class T>
  requires(std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>
void from_json(const nlohmann::ordered_json& json, std::string_view key, T& out) {
  out = number<T>(json, key);
}
inline void from_json(const nlohmann::ordered_json& json, std::string_view key, bool& out) {
  check(json.is_boolean(), Code::parse, "'{}' is {}, which is neither true nor false", key, json.dump());
  out = json.get<bool>();
}
inline void from_json(const nlohmann::ordered_json& json, std::string_view key, std::string& out) {
  check(json.is_string(), Code::parse, "'{}' is {}, which is no text", key, json.dump());
  out = json.get<std::string>();
}
inline void from_json(const nlohmann::ordered_json& json, std::string_view key, std::optional<int>& out) {
  out.reset();
  if (!json.is_null()) out = number<int>(json, key);
}

template <class T>
nlohmann::ordered_json to_json(const T& value)
  requires std::integral<T> || std::floating_point<T>
{
  return value;
}
inline nlohmann::ordered_json to_json(const std::optional<int>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace tessera::ncp
