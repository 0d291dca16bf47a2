#pragma once

// A place in a JSON document, to read from strictly: what is wrong is told with its path and what was found there.

#include "tessera/core/error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

class JsonCursor {
 public:
  using Json = nlohmann::json;

  JsonCursor(const Json& json, std::string path) : json_(&json), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  const Json& json() const { return *json_; }
  std::string found() const;  // short, whatever it is

  // Members of an object. `only` refuses any that are not named, so that slips of the fingers are seen.
  JsonCursor at(std::string_view key) const;
  std::optional<JsonCursor> find(std::string_view key) const;
  void only(std::span<const std::string_view> keys) const;

  std::vector<JsonCursor> items() const;  // of a list

  std::string text() const;
  bool flag() const;
  std::int64_t whole(std::int64_t least = 0, std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  double real(double least = 0) const;
  std::vector<std::string> texts() const;

  // One of a few words, as `name` says them.
  template <class T>
  T word(std::span<const T> values) const {
    const std::string given = text();
    for (const T value : values)
      if (name(value) == given) return value;
    std::string known;
    for (const T value : values) known.append(known.empty() ? "" : ", ").append(name(value));
    fail(Code::parse, Hint{"one of " + known}, "{} is '{}', which is unknown", path_, given);
  }

 private:
  const Json* json_;
  std::string path_;
};

// Refuses text that is no JSON object, or nested deeper than a file of ours.
nlohmann::json parse_json_object(std::string_view text, std::string_view what);

// Objects and lists in one line where they fit into `columns`, otherwise one member a line.
std::string json_text(const nlohmann::ordered_json& json, std::size_t columns = 120);

}  // namespace tessera::io
