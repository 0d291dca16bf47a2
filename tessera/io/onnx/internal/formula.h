#pragma once

// Operators of the graph as functions, for operators of ONNX that are written out in terms of others. Extents are
// values here, so that a formula holds for shapes that are known only at run time; where they are constants, folding
// makes them numbers.

#include "tessera/io/onnx/internal/node_reader.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tessera::onnx {

class Formula {
 public:
  using Dims = std::vector<std::int64_t>;

  explicit Formula(NodeBuilder& build) : build_(build) {}

  // Constants.
  ValueId number(ElementType type, double value) const { return build_.scalar(type, value); }
  ValueId whole(std::int64_t value) const { return build_.constant(Array::scalar<std::int64_t>(value)); }
  ValueId list(Dims values) const { return build_.constant(std::move(values)); }

  // Element by element.
  ValueId unary(Unary::Kind kind, ValueId x, float alpha = 0, float beta = 0) const {
    return build_.add(Unary{kind, alpha, beta}, {x});
  }
  ValueId binary(Binary::Kind kind, ValueId a, ValueId b) const { return build_.add(Binary{kind}, {a, b}); }
  ValueId add(ValueId a, ValueId b) const { return binary(Binary::Kind::add, a, b); }
  ValueId sub(ValueId a, ValueId b) const { return binary(Binary::Kind::sub, a, b); }
  ValueId mul(ValueId a, ValueId b) const { return binary(Binary::Kind::mul, a, b); }
  ValueId div(ValueId a, ValueId b) const { return binary(Binary::Kind::div, a, b); }
  ValueId min(ValueId a, ValueId b) const { return binary(Binary::Kind::min, a, b); }
  ValueId max(ValueId a, ValueId b) const { return binary(Binary::Kind::max, a, b); }
  ValueId less(ValueId a, ValueId b) const { return binary(Binary::Kind::less, a, b); }
  ValueId equal(ValueId a, ValueId b) const { return binary(Binary::Kind::equal, a, b); }
  ValueId both(ValueId a, ValueId b) const { return binary(Binary::Kind::logical_and, a, b); }
  ValueId scaled(ValueId x, double factor) const { return mul(x, number(build_.type(x).type, factor)); }
  ValueId shifted(ValueId x, double term) const { return add(x, number(build_.type(x).type, term)); }
  ValueId where(ValueId condition, ValueId yes, ValueId no) const { return build_.add(Where{}, {condition, yes, no}); }
  ValueId cast(ValueId x, ElementType type) const {
    return build_.type(x).type == type ? x : build_.add(Cast{.to = type}, {x});
  }

  // Shapes.
  ValueId shape(ValueId x) const { return build_.add(ShapeOf{}, {x}); }
  ValueId extents(ValueId x, std::int64_t first, std::int64_t end) const {
    return build_.add(ShapeOf{.start = first, .end = end}, {x});
  }
  ValueId extent(ValueId x, std::int64_t axis) const {  // one number, rank 1
    return axis == -1 ? build_.add(ShapeOf{.start = -1, .end = {}}, {x}) : extents(x, axis, axis + 1);
  }
  ValueId scalar(ValueId x) const { return reshape(x, Dims{}); }     // one element as rank 0
  ValueId as_list(ValueId x) const { return reshape(x, Dims{-1}); }  // as rank 1
  ValueId whole_list(ValueId x) const { return cast(as_list(x), ElementType::int64); }
  ValueId whole_scalar(ValueId x) const { return cast(scalar(x), ElementType::int64); }
  ValueId reshape(ValueId x, Dims dims) const { return reshape(x, list(std::move(dims))); }
  ValueId reshape(ValueId x, ValueId dims) const { return build_.add(Reshape{}, {x, dims}); }
  ValueId transpose(ValueId x, Dims perm) const { return build_.add(Transpose{.perm = std::move(perm)}, {x}); }
  ValueId unsqueeze(ValueId x, Dims axes) const { return build_.add(Unsqueeze{.axes = std::move(axes)}, {x}); }
  ValueId squeeze(ValueId x, Dims axes) const { return build_.add(Squeeze{.axes = std::move(axes)}, {x}); }
  ValueId expand(ValueId x, ValueId dims) const { return build_.add(Expand{}, {x, dims}); }
  ValueId concat(Values parts, std::int64_t axis = 0) const {
    return build_.add(Concat{.axis = axis}, std::move(parts));
  }
  ValueId slice_by(ValueId x, ValueId starts, ValueId ends, Dims axes) const {
    return build_.add(Slice{}, {x, starts, ends, list(std::move(axes))});
  }
  // x[..., first:end:step, ...] along one axis.
  ValueId slice(ValueId x, std::int64_t axis, std::int64_t first, std::int64_t end, std::int64_t step = 1) const {
    return build_.add(Slice{}, {x, list({first}), list({end}), list({axis}), list({step})});
  }
  ValueId filled(ValueId dims, ElementType type, double value) const { return expand(number(type, value), dims); }
  ValueId range(ValueId end) const {  // 0, 1, ... below a scalar of int64
    return build_.add(Range{}, {whole(0), end, whole(1)});
  }

  // The rest.
  ValueId gather(ValueId x, ValueId indices, std::int64_t axis) const {
    return build_.add(Gather{.axis = axis}, {x, indices});
  }
  ValueId matmul(ValueId a, ValueId b) const { return build_.add(MatMul{}, {a, b}); }
  ValueId reduce(Reduce::Kind kind, ValueId x, Dims axes, bool keep_dims) const {
    return build_.add(Reduce{.kind = kind, .axes = std::move(axes), .keep_dims = keep_dims}, {x});
  }

  NodeBuilder& build() const { return build_; }

 private:
  NodeBuilder& build_;
};

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

}  // namespace tessera::onnx
