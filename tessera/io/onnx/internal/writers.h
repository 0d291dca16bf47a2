#pragma once

// How each operator is written, in the file of its family (export_*.cpp). The compiler names those that are missing.

#include "tessera/graph/op.h"
#include "tessera/io/onnx/internal/node_writer.h"

namespace tessera::onnx {

void write(const Attention& op, NodeWriter& out);
void write(const BatchNorm& op, NodeWriter& out);
void write(const Binary& op, NodeWriter& out);
void write(const Cast& op, NodeWriter& out);
void write(const Clip& op, NodeWriter& out);
void write(const Concat& op, NodeWriter& out);
void write(const If& op, NodeWriter& out);
void write(const Loop& op, NodeWriter& out);
void write(const Conv& op, NodeWriter& out);
void write(const ConvTranspose& op, NodeWriter& out);
void write(const NonMaxSuppression& op, NodeWriter& out);
void write(const RoiAlign& op, NodeWriter& out);
void write(const GridSample& op, NodeWriter& out);
void write(const Dropout& op, NodeWriter& out);
void write(const Expand& op, NodeWriter& out);
void write(const TileRepeat& op, NodeWriter& out);
void write(const Gather& op, NodeWriter& out);
void write(const GatherElements& op, NodeWriter& out);
void write(const GatherND& op, NodeWriter& out);
void write(const GlobalPool& op, NodeWriter& out);
void write(const MatMul& op, NodeWriter& out);
void write(const Gemm& op, NodeWriter& out);
void write(const Einsum& op, NodeWriter& out);
void write(const InstanceNorm& op, NodeWriter& out);
void write(const GroupNorm& op, NodeWriter& out);
void write(const LayerNorm& op, NodeWriter& out);
void write(const RmsNorm& op, NodeWriter& out);
void write(const LpNorm& op, NodeWriter& out);
void write(const Lrn& op, NodeWriter& out);
void write(const MeanVarianceNorm& op, NodeWriter& out);
void write(const Pad& op, NodeWriter& out);
void write(const MaxPool& op, NodeWriter& out);
void write(const AveragePool& op, NodeWriter& out);
void write(const LpPool& op, NodeWriter& out);
void write(const QuantizeLinear& op, NodeWriter& out);
void write(const DequantizeLinear& op, NodeWriter& out);
void write(const DynamicQuantizeLinear& op, NodeWriter& out);
void write(const QLinearConv& op, NodeWriter& out);
void write(const QLinearMatMul& op, NodeWriter& out);
void write(const ConvInteger& op, NodeWriter& out);
void write(const MatMulInteger& op, NodeWriter& out);
void write(const QLinearAdd& op, NodeWriter& out);
void write(const QLinearGlobalAveragePool& op, NodeWriter& out);
void write(const ByteLookup& op, NodeWriter& out);
void write(const Recurrent& op, NodeWriter& out);
void write(const Cfc& op, NodeWriter& out);
void write(const Ltc& op, NodeWriter& out);
void write(const Reduce& op, NodeWriter& out);
void write(const ArgReduce& op, NodeWriter& out);
void write(const Reshape& op, NodeWriter& out);
void write(const Flatten& op, NodeWriter& out);
void write(const Squeeze& op, NodeWriter& out);
void write(const Unsqueeze& op, NodeWriter& out);
void write(const Resize& op, NodeWriter& out);
void write(const ScatterND& op, NodeWriter& out);
void write(const ScatterElements& op, NodeWriter& out);
void write(const TopK& op, NodeWriter& out);
void write(const CumSum& op, NodeWriter& out);
void write(const OneHot& op, NodeWriter& out);
void write(const Trilu& op, NodeWriter& out);
void write(const NonZero& op, NodeWriter& out);
void write(const ShapeOf& op, NodeWriter& out);
void write(const SizeOf& op, NodeWriter& out);
void write(const ConstantOfShape& op, NodeWriter& out);
void write(const Range& op, NodeWriter& out);
void write(const EyeLike& op, NodeWriter& out);
void write(const Slice& op, NodeWriter& out);
void write(const Softmax& op, NodeWriter& out);
void write(const DepthToSpace& op, NodeWriter& out);
void write(const SpaceToDepth& op, NodeWriter& out);
void write(const Split& op, NodeWriter& out);
void write(const Transpose& op, NodeWriter& out);
void write(const Unary& op, NodeWriter& out);
void write(const Where& op, NodeWriter& out);
void write(const Unique& op, NodeWriter& out);
void write(const Determinant& op, NodeWriter& out);

}  // namespace tessera::onnx
