#pragma once

#include "tessera/core/element_type.h"
#include "tessera/core/export.h"
#include "tessera/core/shape.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

// What is known of a value before it is computed. An extent that is not known yet is kUnknown; without dims even the
// rank is not known.
struct TSR_API TensorType {
  static constexpr std::int64_t kUnknown = -1;

  ElementType type = ElementType::float32;
  std::optional<std::vector<std::int64_t>> dims;

  TensorType() = default;
  TensorType(ElementType t, std::optional<std::vector<std::int64_t>> d) : type(t), dims(std::move(d)) {}
  TensorType(ElementType t, const Shape& shape) : type(t), dims(shape.dims()) {}

  bool is_static() const;  // every extent is known
  Shape shape() const;     // an Error unless is_static()
  int rank() const;        // an Error unless known
  bool operator==(const TensorType&) const = default;
  std::string to_string() const;  // "float32[1, ?, 224, 224]", "int64[...]"
};

}  // namespace tessera
