#pragma once

// The closed set of operators. A new one is a header in ops/, its three functions, and a line in each list here: the
// compiler then names every visitor that has missed it.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"
#include "tessera/graph/ops/attention.h"
#include "tessera/graph/ops/batch_norm.h"
#include "tessera/graph/ops/binary.h"
#include "tessera/graph/ops/cast.h"
#include "tessera/graph/ops/cfc.h"
#include "tessera/graph/ops/clip.h"
#include "tessera/graph/ops/concat.h"
#include "tessera/graph/ops/control_flow.h"
#include "tessera/graph/ops/conv.h"
#include "tessera/graph/ops/conv_transpose.h"
#include "tessera/graph/ops/detection.h"
#include "tessera/graph/ops/determinant.h"
#include "tessera/graph/ops/dropout.h"
#include "tessera/graph/ops/expand.h"
#include "tessera/graph/ops/gather.h"
#include "tessera/graph/ops/global_pool.h"
#include "tessera/graph/ops/ltc.h"
#include "tessera/graph/ops/matmul.h"
#include "tessera/graph/ops/normalization.h"
#include "tessera/graph/ops/pad.h"
#include "tessera/graph/ops/pool.h"
#include "tessera/graph/ops/quantize.h"
#include "tessera/graph/ops/recurrent.h"
#include "tessera/graph/ops/reduce.h"
#include "tessera/graph/ops/reshape.h"
#include "tessera/graph/ops/resize.h"
#include "tessera/graph/ops/scatter.h"
#include "tessera/graph/ops/select.h"
#include "tessera/graph/ops/shape_of.h"
#include "tessera/graph/ops/slice.h"
#include "tessera/graph/ops/softmax.h"
#include "tessera/graph/ops/space_depth.h"
#include "tessera/graph/ops/split.h"
#include "tessera/graph/ops/transpose.h"
#include "tessera/graph/ops/unary.h"
#include "tessera/graph/ops/unique.h"
#include "tessera/graph/ops/where.h"

#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

using AnyOp =
    std::variant<Attention, BatchNorm, Binary, Cast, Clip, Concat, If, Loop, Conv, ConvTranspose, NonMaxSuppression,
                 RoiAlign, GridSample, Dropout, Expand, TileRepeat, Gather, GatherElements, GatherND, GlobalPool,
                 MatMul, Gemm, Einsum, InstanceNorm, GroupNorm, LayerNorm, RmsNorm, LpNorm, Lrn, MeanVarianceNorm, Pad,
                 MaxPool, AveragePool, LpPool, QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, QLinearConv,
                 QLinearMatMul, ConvInteger, MatMulInteger, QLinearAdd, QLinearGlobalAveragePool, ByteLookup, Recurrent,
                 Cfc, Ltc, Reduce, ArgReduce, Reshape, Flatten, Squeeze, Unsqueeze, Resize, ScatterND, ScatterElements,
                 TopK, CumSum, OneHot, Trilu, NonZero, ShapeOf, SizeOf, ConstantOfShape, Range, EyeLike, Slice, Softmax,
                 DepthToSpace, SpaceToDepth, Split, Transpose, Unary, Where, Unique, Determinant>;

// One of them. Copies, moves and destroys out of line: with this many alternatives, every source that does so by itself
// takes seconds longer to compile.
class TSR_API Op : public AnyOp {
 public:
  Op();
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();

  template <class X>
    requires(!std::is_base_of_v<AnyOp, std::remove_cvref_t<X>>)
  Op(X&& op) : AnyOp(std::in_place_type<std::remove_cvref_t<X>>, std::forward<X>(op)) {}  // NOLINT: any of them is one

  bool operator==(const Op& other) const;
};

TSR_API std::string_view name(const Op& op);
TSR_API std::vector<TensorType> infer(const Op& op, std::span<const Known> inputs);
TSR_API Work work(const Op& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Op& op, std::span<const Array* const> inputs);

}  // namespace tessera
