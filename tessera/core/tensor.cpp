#include "tessera/core/tensor.h"

#include "tessera/core/convert.h"
#include "tessera/core/error.h"
#include "tessera/core/tile_codec.h"

#include <algorithm>
#include <cstring>

namespace tessera {

DType element_dtype_of(DType dtype) { return is_block_float(dtype) ? DType::bfloat16 : dtype; }

Tensor::Tensor(Shape shape, DType dtype, Layout layout, Tile tile)
    : Tensor(Unwritten{}, std::move(shape), dtype, layout, tile) {
  std::fill(bytes_.begin(), bytes_.end(), std::byte{0});
}

Tensor::Tensor(Unwritten, Shape shape, DType dtype, Layout layout, Tile tile)
    : shape_(std::move(shape)), dtype_(dtype), layout_(layout), tile_(tile) {
  check_tile(tile_);
  check(layout_ == Layout::tile || !is_block_float(dtype_), Code::invalid_argument,
        Hint{"use TILE layout: 16 values of a face row share one exponent"}, "{} does not exist in ROW_MAJOR layout", name(dtype_));
  check(layout_ == Layout::tile || tile_ == Tile{}, Code::invalid_argument, "a ROW_MAJOR tensor has no tile, but {} was given",
        tile_.to_string());
  bytes_.resize(static_cast<std::size_t>(matrices() * matrix_bytes()));
}

std::int64_t Tensor::matrices() const {
  std::int64_t count = 1;
  for (int i = 0; i + 2 < shape_.rank(); ++i) count *= shape_[i];
  return count;
}

Extent2d Tensor::matrix() const {
  if (shape_.rank() == 0) return {1, 1};
  return {shape_.rank() == 1 ? 1 : shape_[-2], shape_[-1]};
}

std::int64_t Tensor::matrix_bytes() const {
  return layout_ == Layout::tile ? tiled_bytes(matrix(), dtype_, tile_) : matrix().area() * element_bytes(dtype_);
}

Shape Tensor::padded_shape() const {
  if (layout_ == Layout::row_major) return shape_.rank() == 0 ? Shape{1} : shape_;
  std::vector<std::int64_t> dims = shape_.dims();
  while (dims.size() < 2) dims.insert(dims.begin(), 1);
  const Extent2d padded = padded_to_tiles(matrix(), tile_);
  dims[dims.size() - 2] = padded.height;
  dims[dims.size() - 1] = padded.width;
  return Shape(std::move(dims));
}

Tensor Tensor::from_elements(std::span<const std::byte> elements, DType element_dtype, Shape shape, DType dtype, Layout layout,
                             Tile tile, Rounding rounding) {
  check(!is_block_float(element_dtype), Code::invalid_argument, "{} has no elements of its own", name(element_dtype));
  Tensor out(Unwritten{}, std::move(shape), dtype, layout, tile);
  const std::int64_t count = out.shape_.volume();
  if (static_cast<std::int64_t>(elements.size()) != count * element_bytes(element_dtype))
    fail(Code::invalid_argument, "shape {} of {} takes {} B, but {} B were given", out.shape_.to_string(), name(element_dtype),
         count * element_bytes(element_dtype), elements.size());

  // Block floats are packed from float32, everything else is converted first and then tilized as it is.
  const DType flat_dtype = is_block_float(dtype) ? DType::float32 : dtype;
  Bytes converted;
  const std::byte* flat = elements.data();
  if (element_dtype != flat_dtype) {
    converted.resize(static_cast<std::size_t>(count * element_bytes(flat_dtype)));
    convert(elements.data(), element_dtype, converted.data(), flat_dtype, count, rounding);
    flat = converted.data();
  }
  if (layout == Layout::row_major) {
    if (!out.bytes_.empty()) std::memcpy(out.bytes_.data(), flat, out.bytes_.size());
    return out;
  }
  const Extent2d extent = out.matrix();
  const std::int64_t step = extent.area() * element_bytes(flat_dtype);
  for (std::int64_t i = 0; i < out.matrices(); ++i) {
    std::byte* to = out.bytes_.data() + i * out.matrix_bytes();
    if (is_block_float(dtype)) pack_tiles(reinterpret_cast<const float*>(flat + i * step), extent, dtype, tile, rounding, to);
    else tilize(flat + i * step, extent, element_bytes(dtype), tile, to);
  }
  return out;
}

Tensor Tensor::from_float32(std::span<const float> values, Shape shape, DType dtype, Layout layout, Tile tile, Rounding rounding) {
  return from_elements(std::as_bytes(values), DType::float32, std::move(shape), dtype, layout, tile, rounding);
}

Bytes Tensor::to_elements(DType element_dtype, Rounding rounding) const {
  check(!is_block_float(element_dtype), Code::invalid_argument, "{} has no elements of its own", name(element_dtype));
  const std::int64_t count = shape_.volume();
  const DType flat_dtype = is_block_float(dtype_) ? DType::float32 : dtype_;
  Bytes flat;
  if (layout_ == Layout::row_major) {
    flat = bytes_;
  } else {
    flat.resize(static_cast<std::size_t>(count * element_bytes(flat_dtype)));
    const Extent2d extent = matrix();
    const std::int64_t step = extent.area() * element_bytes(flat_dtype);
    for (std::int64_t i = 0; i < matrices(); ++i) {
      const std::byte* from = bytes_.data() + i * matrix_bytes();
      if (is_block_float(dtype_)) unpack_tiles(from, extent, dtype_, tile_, reinterpret_cast<float*>(flat.data() + i * step));
      else untilize(from, extent, element_bytes(dtype_), tile_, flat.data() + i * step);
    }
  }
  if (flat_dtype == element_dtype) return flat;
  Bytes out(static_cast<std::size_t>(count * element_bytes(element_dtype)));
  convert(flat.data(), flat_dtype, out.data(), element_dtype, count, rounding);
  return out;
}

std::vector<float> Tensor::to_float32() const {
  const Bytes elements = to_elements(DType::float32);
  std::vector<float> out(elements.size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), elements.data(), elements.size());
  return out;
}

std::string Tensor::to_string() const {
  return fmt::format("{} {} {}", shape_.to_string(), name(dtype_), name(layout_));
}

Tensor to_layout(const Tensor& x, Layout layout, Tile tile) {
  if (layout == x.layout() && (layout == Layout::row_major || tile == x.tile())) return x;
  const DType flat_dtype = is_block_float(x.dtype()) ? DType::float32 : x.dtype();
  // A block float that leaves its tiles becomes bfloat16, which holds it exactly.
  const DType dtype = layout == Layout::row_major ? element_dtype_of(x.dtype()) : x.dtype();
  return Tensor::from_elements(x.to_elements(flat_dtype), flat_dtype, x.shape(), dtype, layout, tile);
}

Tensor typecast(const Tensor& x, DType dtype, Rounding rounding) {
  if (dtype == x.dtype()) return x;
  const DType flat_dtype = is_block_float(x.dtype()) ? DType::float32 : x.dtype();
  return Tensor::from_elements(x.to_elements(flat_dtype), flat_dtype, x.shape(), dtype, x.layout(), x.tile(), rounding);
}

}  // namespace tessera
