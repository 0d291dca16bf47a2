#pragma once

// A tensor in host memory: the bytes in exactly the dtype, layout and tile that it says, padding included.

#include "tessera/core/block_float.h"
#include "tessera/core/bytes.h"
#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/core/tile.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tessera {

class TSR_API Tensor {
 public:
  // Zeros. Block floats need TILE layout, tiles other than 32x32 too.
  Tensor(Shape shape, DType dtype, Layout layout, Tile tile = {});

  // From row-major elements of a dtype that has elements of its own (no block float).
  static Tensor from_elements(std::span<const std::byte> elements, DType element_dtype, Shape shape, DType dtype, Layout layout,
                              Tile tile = {}, Rounding rounding = Rounding::host);
  static Tensor from_float32(std::span<const float> values, Shape shape, DType dtype, Layout layout, Tile tile = {},
                             Rounding rounding = Rounding::host);

  // Row-major elements of another dtype, padding dropped.
  Bytes to_elements(DType element_dtype, Rounding rounding = Rounding::host) const;
  std::vector<float> to_float32() const;

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  Layout layout() const { return layout_; }
  const Tile& tile() const { return tile_; }
  // Last two dimensions rounded up to whole tiles in TILE layout (which has rank 2 at least), else the shape itself.
  Shape padded_shape() const;

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }

  std::string to_string() const;  // "[1, 1, 32, 64] bfloat16 TILE"

 private:
  struct Unwritten {};
  Tensor(Unwritten, Shape shape, DType dtype, Layout layout, Tile tile);  // every byte is about to be written

  // The tensor as a stack of matrices, each padded to tiles on its own.
  std::int64_t matrices() const;
  Extent2d matrix() const;
  std::int64_t matrix_bytes() const;

  Shape shape_;
  DType dtype_;
  Layout layout_;
  Tile tile_;
  Bytes bytes_;
};

// A dtype in which every value of `dtype` is exact and which has elements of its own.
TSR_API DType element_dtype_of(DType dtype);

TSR_API Tensor to_layout(const Tensor& x, Layout layout, Tile tile = {});
TSR_API Tensor typecast(const Tensor& x, DType dtype, Rounding rounding = Rounding::host);

}  // namespace tessera
