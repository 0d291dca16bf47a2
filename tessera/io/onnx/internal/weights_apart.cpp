#include "tessera/io/onnx/internal/weights_apart.h"

#include <cstdint>

namespace tessera::onnx {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kLarge = 4096;  // less is quickly copied

// Numbers of ONNX's schema.
constexpr std::uint64_t kModelGraph = 7, kGraphInitializer = 5, kTensorRawData = 9;

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  Bytes all;      // with its tag
  Bytes content;  // of one with a length
  bool has_length = false;
};

// The fields of a message, one after the other.
class Fields {
 public:
  explicit Fields(Bytes message) : rest_(message) {}

  bool done() const { return rest_.empty(); }

  // None if what follows is not a field.
  std::optional<Field> next() {
    const Bytes start = rest_;
    const auto tag = varint();
    if (!tag) return std::nullopt;
    Field field;
    field.number = *tag >> 3;
    std::optional<std::uint64_t> skip;
    switch (static_cast<WireType>(*tag & 7)) {
      case WireType::varint:
        if (!varint()) return std::nullopt;
        skip = 0;
        break;
      case WireType::fixed64: skip = 8; break;
      case WireType::fixed32: skip = 4; break;
      case WireType::length:
        skip = varint();
        field.has_length = true;
        break;
      default: return std::nullopt;
    }
    if (!skip || *skip > rest_.size()) return std::nullopt;
    field.content = rest_.first(*skip);
    rest_ = rest_.subspan(*skip);
    field.all = start.first(start.size() - rest_.size());
    return field;
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  Bytes rest_;
};

void append(std::string& to, Bytes bytes) { to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

void append_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

void append_message(std::string& to, std::uint64_t number, const std::string& message) {
  append_varint(to, number << 3 | static_cast<std::uint64_t>(WireType::length));
  append_varint(to, message.size());
  to += message;
}

// Appends the tensor; its large raw_data goes to `raw`.
bool append_tensor(const Field& tensor, std::string& to, Bytes& raw) {
  std::string message;
  bool found = false;
  for (Fields fields(tensor.content); !fields.done();) {
    const auto field = fields.next();
    if (!field) return false;
    if (field->number != kTensorRawData) {
      append(message, field->all);
      continue;
    }
    if (found || !field->has_length) return false;
    found = true;
    if (field->content.size() < kLarge)
      append(message, field->all);
    else
      raw = field->content;
  }
  append_message(to, kGraphInitializer, message);
  return true;
}

bool append_graph(const Field& graph, WeightsApart& to) {
  std::string message;
  for (Fields fields(graph.content); !fields.done();) {
    const auto field = fields.next();
    if (!field) return false;
    if (field->number != kGraphInitializer) {
      append(message, field->all);
      continue;
    }
    if (!field->has_length || !append_tensor(*field, message, to.raw.emplace_back())) return false;
  }
  append_message(to.rest, kModelGraph, message);
  return true;
}

}  // namespace

std::optional<WeightsApart> weights_apart(Bytes model) {
  WeightsApart apart;
  bool found = false;
  for (Fields fields(model); !fields.done();) {
    const auto field = fields.next();
    if (!field) return std::nullopt;
    if (field->number != kModelGraph) {
      append(apart.rest, field->all);
      continue;
    }
    if (found || !field->has_length || !append_graph(*field, apart)) return std::nullopt;
    found = true;
  }
  return apart;
}

}  // namespace tessera::onnx
