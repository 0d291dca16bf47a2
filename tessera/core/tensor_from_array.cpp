#include "tessera/core/tensor_from_array.h"

#include "tessera/core/bytes.h"
#include "tessera/core/convert.h"
#include "tessera/core/elements.h"
#include "tessera/core/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace tessera {
namespace {

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    constexpr double low = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double high = static_cast<double>(std::numeric_limits<To>::max());
    return static_cast<To>(std::clamp(static_cast<double>(value), low, high));
  } else {
    return static_cast<To>(value);  // integers wrap
  }
}

template <class From, class To>
Bytes convert_all(std::span<const std::byte> elements) {
  const std::size_t count = elements.size() / sizeof(From);
  Bytes out(count * sizeof(To));
  for (std::size_t i = 0; i < count; ++i) {
    From from;
    std::memcpy(&from, elements.data() + i * sizeof(From), sizeof(From));
    const To to = converted<To>(from);
    std::memcpy(out.data() + i * sizeof(To), &to, sizeof(To));
  }
  return out;
}

template <class From>
Bytes convert_from(std::span<const std::byte> elements, DType to) {
  switch (to) {
    case DType::uint8: return convert_all<From, std::uint8_t>(elements);
    case DType::uint16: return convert_all<From, std::uint16_t>(elements);
    case DType::uint32: return convert_all<From, std::uint32_t>(elements);
    case DType::int32: return convert_all<From, std::int32_t>(elements);
    default: return convert_all<From, float>(elements);
  }
}

Bytes convert_booleans(std::span<const std::byte> elements, DType to) {
  Bytes ones(elements.size());
  std::transform(elements.begin(), elements.end(), ones.begin(),
                 [](std::byte b) { return std::byte{b != std::byte{0}}; });
  return convert_from<std::uint8_t>(ones, to);
}

// Any element type as one that Tensor takes; `to` is the dtype wanted in the end.
Bytes convert_array(std::span<const std::byte> elements, ElementType type, DType to) {
  switch (type) {
    case ElementType::boolean: return convert_booleans(elements, to);
    case ElementType::int8: return convert_from<std::int8_t>(elements, to);
    case ElementType::uint8: return convert_from<std::uint8_t>(elements, to);
    case ElementType::int16: return convert_from<std::int16_t>(elements, to);
    case ElementType::uint16: return convert_from<std::uint16_t>(elements, to);
    case ElementType::int32: return convert_from<std::int32_t>(elements, to);
    case ElementType::uint32: return convert_from<std::uint32_t>(elements, to);
    case ElementType::int64: return convert_from<std::int64_t>(elements, to);
    case ElementType::uint64: return convert_from<std::uint64_t>(elements, to);
    case ElementType::float64: return convert_from<double>(elements, to);
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::float32: break;  // Tensor takes them as they are
    default: fail(Code::unsupported, "tensors cannot be made from {} elements", name(type));
  }
  return Bytes(elements.begin(), elements.end());
}

Bytes repeated(float value, DType dtype, std::int64_t count) {
  Bytes one(static_cast<std::size_t>(element_bytes(dtype)));
  convert(reinterpret_cast<const std::byte*>(&value), DType::float32, one.data(), dtype, 1, Rounding::host);
  Bytes out(one.size() * static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = one[i % one.size()];
  return out;
}

// A tensor has its padding in its bytes: pad the elements, tilize them, and take the bytes.
Tensor padded_tensor(std::span<const std::byte> elements, DType element_dtype, const Shape& shape, DType dtype,
                     const Tile& tile, float pad_value) {
  Tensor out(shape, dtype, Layout::tile, tile);
  const Shape padded = out.padded_shape();
  std::vector<std::int64_t> dims = shape.dims();
  while (dims.size() < 2) dims.insert(dims.begin(), 1);
  const std::size_t rank = dims.size();
  const Shape box(std::move(dims));
  Bytes all = repeated(pad_value, element_dtype, padded.volume());
  copy_box({box, box, padded, std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 1),
            std::vector<std::int64_t>(rank, 0)},
           element_bytes(element_dtype), elements.data(), all.data());
  const Tensor tiles = Tensor::from_elements(all, element_dtype, padded, dtype, Layout::tile, tile);
  std::copy(tiles.bytes().begin(), tiles.bytes().end(), out.bytes().begin());
  return out;
}

}  // namespace

DType default_dtype(ElementType type) {
  if (const std::optional<DType> same = to_dtype(type)) return *same;
  switch (type) {
    case ElementType::boolean: return DType::uint8;
    case ElementType::int8: return DType::int32;
    case ElementType::int16: return DType::uint16;
    case ElementType::int64:
    case ElementType::uint64: return DType::uint32;
    default: return DType::float32;
  }
}

Tensor tensor_from_array(std::span<const std::byte> elements, ElementType type, const Shape& shape,
                         const ArrayImport& how) {
  const std::size_t wanted = static_cast<std::size_t>(shape.volume()) * static_cast<std::size_t>(element_bytes(type));
  check(elements.size() == wanted, Code::invalid_argument,
        "{} B of {} elements cannot be a tensor of shape {}, which needs {} B", elements.size(), name(type),
        shape.to_string(), wanted);
  const DType dtype = how.dtype.value_or(default_dtype(type));
  const Layout layout = how.layout.value_or(is_block_float(dtype) ? Layout::tile : Layout::row_major);

  // Elements that Tensor understands: the array's own where they need no wrapping, else the wanted integers, else
  // float32.
  const std::optional<DType> same = to_dtype(type);
  const bool as_they_are = same && (!is_integer(*same) || !is_integer(dtype) || *same == dtype);
  const DType element_dtype = as_they_are ? *same : is_integer(dtype) ? dtype : DType::float32;
  Bytes own;
  if (!as_they_are) {
    own = convert_array(elements, type, element_dtype);
    elements = own;
  }
  const Tensor empty(Shape{0}, dtype, layout, how.tile);  // refuses combinations that do not exist
  if (layout == Layout::tile && how.pad_value != 0 && shape.volume() > 0)
    return padded_tensor(elements, element_dtype, shape, dtype, how.tile, how.pad_value);
  return Tensor::from_elements(elements, element_dtype, shape, dtype, layout, how.tile);
}

}  // namespace tessera
