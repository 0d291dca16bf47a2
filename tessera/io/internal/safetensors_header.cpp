#include "tessera/io/internal/safetensors_header.h"

#include "tessera/core/error.h"
#include "tessera/io/internal/bytes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <optional>
#include <unordered_set>

namespace tessera::io {
namespace {

using Json = nlohmann::json;

// Builds the header from the parser's events, so that nothing is kept that the format does not define: the deepest
// legal place is a number in a list in a tensor, and every event elsewhere is an error.
class Reader : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::start: place_ = Place::top; return true;
      case Place::entry_value: place_ = Place::entry; return true;
      case Place::metadata_object: place_ = Place::metadata; return true;
      default: refuse("an object");
    }
  }

  bool key(string_t& text) override {
    if (place_ == Place::top) {
      check(names_.insert(text).second, Code::parse, "safetensors: the header names {} twice", in_quotes(text));
      if (text == kMetadataKey) {
        place_ = Place::metadata_object;
      } else {
        entry_ = {};
        entry_.name = std::move(text);
        has_dtype_ = has_shape_ = has_offsets_ = false;
        place_ = Place::entry_value;
      }
    } else if (place_ == Place::entry) {
      bool* seen = text == "dtype"          ? &has_dtype_
                   : text == "shape"        ? &has_shape_
                   : text == "data_offsets" ? &has_offsets_
                                            : nullptr;
      if (seen == nullptr)
        fail(Code::parse, "safetensors: tensor {} has an unknown field {}", label(), in_quotes(text));
      if (*seen) fail(Code::parse, "safetensors: tensor {} has the field {} twice", label(), in_quotes(text));
      *seen = true;
      place_ = seen == &has_dtype_ ? Place::dtype : seen == &has_shape_ ? Place::shape_list : Place::offsets_list;
    } else {
      check(!header_.metadata.contains(text), Code::parse, "safetensors: the metadata has the key {} twice",
            in_quotes(text));
      metadata_key_ = std::move(text);
      place_ = Place::metadata_value;
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::top) {
      place_ = Place::done;
    } else if (place_ == Place::metadata) {
      place_ = Place::top;
    } else {
      for (auto [seen, field] : {std::pair(has_dtype_, "dtype"), {has_shape_, "shape"}, {has_offsets_, "data_offsets"}})
        if (!seen) fail(Code::parse, "safetensors: tensor {} has no '{}'", label(), field);
      header_.entries.push_back(std::move(entry_));
      place_ = Place::top;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::shape_list && place_ != Place::offsets_list) refuse("a list");
    place_ = place_ == Place::shape_list ? Place::shape : Place::offsets;
    offsets_.clear();
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets) {
      if (offsets_.size() != 2)
        fail(Code::parse, "safetensors: tensor {} has {} data_offsets, not 2", label(), offsets_.size());
      entry_.begin = offsets_[0];
      entry_.end = offsets_[1];
    }
    place_ = Place::entry;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::shape) {
      if (entry_.shape.size() == kMaxRank)
        fail(Code::parse, "safetensors: tensor {} has more than {} extents", label(), kMaxRank);
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        fail(Code::parse, "safetensors: tensor {} has an extent of {}, which does not fit 63 bits", label(), value);
      entry_.shape.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == Place::offsets) {
      if (offsets_.size() == 2) fail(Code::parse, "safetensors: tensor {} has more than 2 data_offsets", label());
      offsets_.push_back(value);
    } else {
      refuse("a number");
    }
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::dtype) {
      const std::optional<ElementType> type = parse_safetensors_name(text);
      if (!type) fail(Code::unsupported, "safetensors: tensor {} has the unknown dtype {}", label(), in_quotes(text));
      entry_.type = *type;
      place_ = Place::entry;
    } else if (place_ == Place::metadata_value) {
      header_.metadata.emplace(std::move(metadata_key_), std::move(text));
      place_ = Place::metadata;
    } else {
      refuse("a string");
    }
    return true;
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a truth value"); }
  bool number_integer(number_integer_t value) override { refuse(fmt::format("the number {}", value)); }
  bool number_float(number_float_t, const string_t& text) override { refuse("the number " + in_quotes(text)); }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(Code::parse, "safetensors: the header is not valid JSON at byte {}", position);
  }

 private:
  enum class Place {
    start,
    top,
    entry_value,
    entry,
    dtype,
    shape_list,
    shape,
    offsets_list,
    offsets,
    metadata_object,
    metadata,
    metadata_value,
    done
  };

  std::string label() const { return in_quotes(entry_.name); }

  [[noreturn]] void refuse(std::string_view found) const {
    std::string expected;
    switch (place_) {
      case Place::start: expected = "the header must be a JSON object"; break;
      case Place::entry_value: expected = fmt::format("tensor {} must be an object", label()); break;
      case Place::dtype: expected = fmt::format("the dtype of tensor {} must be a string", label()); break;
      case Place::shape_list:
      case Place::shape:
        expected = fmt::format("the shape of tensor {} must be a list of non-negative integers", label());
        break;
      case Place::offsets_list:
      case Place::offsets:
        expected = fmt::format("the data_offsets of tensor {} must be a list of 2 non-negative integers", label());
        break;
      case Place::metadata_object: expected = "__metadata__ must be an object"; break;
      case Place::metadata_value:
        expected = fmt::format("the metadata {} must be a string", in_quotes(metadata_key_));
        break;
      default: expected = "the header is malformed"; break;
    }
    fail(Code::parse, "safetensors: {}, found {}", expected, found);
  }

  Place place_ = Place::start;
  SafetensorsHeader header_;
  SafetensorsEntry entry_;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  std::vector<std::uint64_t> offsets_;
  std::string metadata_key_;
  std::unordered_set<std::string> names_;
};

std::string json_text(const std::string& text) { return Json(text).dump(); }

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json) {
  check(json.starts_with('{'), Code::parse, "safetensors: the header does not start with '{{'");
  const std::size_t last = json.find_last_not_of(' ');
  check(json[last] == '}', Code::parse, "safetensors: the header does not end with '}}' and spaces");
  Reader reader;
  Json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
}

std::string encode_safetensors_header(const SafetensorsHeader& header) {
  std::string out = "{";
  const auto separate = [&] {
    if (out.back() != '{') out += ',';
  };
  if (!header.metadata.empty()) {
    out += fmt::format("\"{}\":{{", kMetadataKey);
    for (const auto& [key, value] : header.metadata) {
      separate();
      out += json_text(key) + ":" + json_text(value);
    }
    out += '}';
  }
  for (const SafetensorsEntry& entry : header.entries) {
    separate();
    out += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", json_text(entry.name),
                       safetensors_name(entry.type), fmt::join(entry.shape, ","), entry.begin, entry.end);
  }
  out += '}';
  out.append((8 - out.size() % 8) % 8, ' ');
  return out;
}

}  // namespace tessera::io
