#include "bind.h"
#include "ttnn_enums.h"

#include "tessera/targets/tensix/card/tensor_spec.h"

#include <string>

namespace nb = nanobind;

namespace tessera::python {

TtnnBufferType to_python(tensix::BufferType value) {
  switch (value) {
    case tensix::BufferType::dram: return TtnnBufferType::DRAM;
    case tensix::BufferType::l1: return TtnnBufferType::L1;
    case tensix::BufferType::l1_small: return TtnnBufferType::L1_SMALL;
    case tensix::BufferType::trace: return TtnnBufferType::TRACE;
  }
  return TtnnBufferType::DRAM;
}

tensix::BufferType from_python(TtnnBufferType value) {
  switch (value) {
    case TtnnBufferType::DRAM: return tensix::BufferType::dram;
    case TtnnBufferType::L1: return tensix::BufferType::l1;
    case TtnnBufferType::L1_SMALL: return tensix::BufferType::l1_small;
    case TtnnBufferType::TRACE: return tensix::BufferType::trace;
  }
  return tensix::BufferType::dram;
}

TtnnMemoryLayout to_python(tensix::TensorMemoryLayout value) {
  switch (value) {
    case tensix::TensorMemoryLayout::interleaved: return TtnnMemoryLayout::INTERLEAVED;
    case tensix::TensorMemoryLayout::height_sharded: return TtnnMemoryLayout::HEIGHT_SHARDED;
    case tensix::TensorMemoryLayout::width_sharded: return TtnnMemoryLayout::WIDTH_SHARDED;
    case tensix::TensorMemoryLayout::block_sharded: return TtnnMemoryLayout::BLOCK_SHARDED;
    case tensix::TensorMemoryLayout::nd_sharded: return TtnnMemoryLayout::ND_SHARDED;
  }
  return TtnnMemoryLayout::INTERLEAVED;
}

tensix::TensorMemoryLayout from_python(TtnnMemoryLayout value) {
  switch (value) {
    case TtnnMemoryLayout::INTERLEAVED: return tensix::TensorMemoryLayout::interleaved;
    case TtnnMemoryLayout::HEIGHT_SHARDED: return tensix::TensorMemoryLayout::height_sharded;
    case TtnnMemoryLayout::WIDTH_SHARDED: return tensix::TensorMemoryLayout::width_sharded;
    case TtnnMemoryLayout::BLOCK_SHARDED: return tensix::TensorMemoryLayout::block_sharded;
    case TtnnMemoryLayout::ND_SHARDED: return tensix::TensorMemoryLayout::nd_sharded;
  }
  return tensix::TensorMemoryLayout::interleaved;
}

TtnnDistribution to_python(tensix::ShardDistribution value) {
  switch (value) {
    case tensix::ShardDistribution::round_robin_1d: return TtnnDistribution::ROUND_ROBIN_1D;
    case tensix::ShardDistribution::contiguous_1d: return TtnnDistribution::CONTIGUOUS_1D;
    case tensix::ShardDistribution::grid_2d: return TtnnDistribution::GRID_2D;
  }
  return TtnnDistribution::ROUND_ROBIN_1D;
}

tensix::ShardDistribution from_python(TtnnDistribution value) {
  switch (value) {
    case TtnnDistribution::ROUND_ROBIN_1D: return tensix::ShardDistribution::round_robin_1d;
    case TtnnDistribution::CONTIGUOUS_1D: return tensix::ShardDistribution::contiguous_1d;
    case TtnnDistribution::GRID_2D: return tensix::ShardDistribution::grid_2d;
  }
  return tensix::ShardDistribution::round_robin_1d;
}

TtnnDataType to_python(DataType value) {
  switch (value.value) {
    case DType::float32: return TtnnDataType::FLOAT32;
    case DType::bfloat16: return TtnnDataType::BFLOAT16;
    case DType::float16: return TtnnDataType::FLOAT16;
    case DType::bfloat8_b: return TtnnDataType::BFLOAT8_B;
    case DType::bfloat4_b: return TtnnDataType::BFLOAT4_B;
    case DType::uint8: return TtnnDataType::UINT8;
    case DType::uint16: return TtnnDataType::UINT16;
    case DType::uint32: return TtnnDataType::UINT32;
    case DType::int32: return TtnnDataType::INT32;
  }
  return TtnnDataType::BFLOAT16;
}

DataType from_python(TtnnDataType value) {
  switch (value) {
    case TtnnDataType::FLOAT32: return {DType::float32};
    case TtnnDataType::BFLOAT16: return {DType::bfloat16};
    case TtnnDataType::FLOAT16: return {DType::float16};
    case TtnnDataType::BFLOAT8_B: return {DType::bfloat8_b};
    case TtnnDataType::BFLOAT4_B: return {DType::bfloat4_b};
    case TtnnDataType::UINT8: return {DType::uint8};
    case TtnnDataType::UINT16: return {DType::uint16};
    case TtnnDataType::UINT32: return {DType::uint32};
    case TtnnDataType::INT32: return {DType::int32};
  }
  return {};
}

void bind_ttnn_enums(nb::module_& module) {
  nb::enum_<TtnnDataType>(module, "DataType", "Element types of ttnn tensors. FLOAT16 is an addition of ours.")
      .value("BFLOAT16", TtnnDataType::BFLOAT16)
      .value("FLOAT32", TtnnDataType::FLOAT32)
      .value("UINT32", TtnnDataType::UINT32)
      .value("BFLOAT8_B", TtnnDataType::BFLOAT8_B)
      .value("BFLOAT4_B", TtnnDataType::BFLOAT4_B)
      .value("UINT8", TtnnDataType::UINT8)
      .value("UINT16", TtnnDataType::UINT16)
      .value("INT32", TtnnDataType::INT32)
      .value("FLOAT16", TtnnDataType::FLOAT16);
  nb::enum_<Layout>(module, "Layout", "How elements lie in memory.")
      .value("ROW_MAJOR", Layout::row_major)
      .value("TILE", Layout::tile);
  nb::enum_<TtnnBufferType>(module, "BufferType", "Which memory a buffer lives in.")
      .value("DRAM", TtnnBufferType::DRAM)
      .value("L1", TtnnBufferType::L1)
      .value("L1_SMALL", TtnnBufferType::L1_SMALL)
      .value("TRACE", TtnnBufferType::TRACE);
  nb::enum_<TtnnMemoryLayout>(module, "TensorMemoryLayout", "How a tensor is spread over the banks of its memory.")
      .value("INTERLEAVED", TtnnMemoryLayout::INTERLEAVED)
      .value("HEIGHT_SHARDED", TtnnMemoryLayout::HEIGHT_SHARDED)
      .value("WIDTH_SHARDED", TtnnMemoryLayout::WIDTH_SHARDED)
      .value("BLOCK_SHARDED", TtnnMemoryLayout::BLOCK_SHARDED)
      .value("ND_SHARDED", TtnnMemoryLayout::ND_SHARDED);
  nb::enum_<tensix::ShardOrientation>(module, "ShardOrientation", "How shards walk over the cores.")
      .value("ROW_MAJOR", tensix::ShardOrientation::row_major)
      .value("COL_MAJOR", tensix::ShardOrientation::col_major);
  nb::enum_<TtnnDistribution>(module, "ShardDistributionStrategy", "How n-D shards are dealt to cores.")
      .value("ROUND_ROBIN_1D", TtnnDistribution::ROUND_ROBIN_1D)
      .value("GRID_2D", TtnnDistribution::GRID_2D)
      .value("CONTIGUOUS_1D", TtnnDistribution::CONTIGUOUS_1D);
  nb::enum_<tensix::ShardAlignment>(module, "ShardShapeAlignment", "How far TensorSpec.sharded may round a shard up.")
      .value("NONE", tensix::ShardAlignment::none)
      .value("REQUIRED", tensix::ShardAlignment::required)
      .value("RECOMMENDED", tensix::ShardAlignment::recommended);
  nb::enum_<TtnnStorageType>(module, "StorageType", "Where a tensor is.")
      .value("HOST", TtnnStorageType::HOST)
      .value("DEVICE", TtnnStorageType::DEVICE);
  nb::enum_<TtnnArch>(module, "Arch", "The generation of a card.")
      .value("WORMHOLE_B0", TtnnArch::WORMHOLE_B0)
      .value("BLACKHOLE", TtnnArch::BLACKHOLE);
}

}  // namespace tessera::python
