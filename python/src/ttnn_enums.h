#pragma once

// TTNN's enumerations as Python sees them: their names and numbers are part of its API. The library's own enumerations
// convert to and from them wherever they cross the border, so that bindings are written with the library's types.

#include "tessera/core/dtype.h"
#include "tessera/targets/tensix/card/memory_config.h"

#include <nanobind/nanobind.h>

#include <cstdint>

namespace tessera::python {

enum class TtnnBufferType : std::uint8_t { DRAM = 0, L1 = 1, L1_SMALL = 3, TRACE = 4 };
enum class TtnnMemoryLayout : std::uint8_t {
  INTERLEAVED = 0,
  HEIGHT_SHARDED = 2,
  WIDTH_SHARDED = 3,
  BLOCK_SHARDED = 4,
  ND_SHARDED = 5
};
enum class TtnnDistribution : std::uint8_t { ROUND_ROBIN_1D = 0, GRID_2D = 1, CONTIGUOUS_1D = 2 };
// FLOAT16 is ours; FP8_E4M3 (8) and INT8 (9) are not there.
enum class TtnnDataType : std::uint8_t {
  BFLOAT16 = 0,
  FLOAT32 = 1,
  UINT32 = 2,
  BFLOAT8_B = 3,
  BFLOAT4_B = 4,
  UINT8 = 5,
  UINT16 = 6,
  INT32 = 7,
  FLOAT16 = 11,
};
enum class TtnnArch : std::uint8_t { WORMHOLE_B0 = 2, BLACKHOLE = 3 };
enum class TtnnStorageType : std::uint8_t { HOST = 0, DEVICE = 1 };

TtnnBufferType to_python(tensix::BufferType value);
tensix::BufferType from_python(TtnnBufferType value);
TtnnMemoryLayout to_python(tensix::TensorMemoryLayout value);
tensix::TensorMemoryLayout from_python(TtnnMemoryLayout value);
TtnnDistribution to_python(tensix::ShardDistribution value);
tensix::ShardDistribution from_python(TtnnDistribution value);

// A DType that Python calls a DataType. (tessera.DType is the library's own enumeration.)
struct DataType {
  DType value = DType::bfloat16;
  operator DType() const { return value; }
};
TtnnDataType to_python(DataType value);
DataType from_python(TtnnDataType value);

inline std::optional<DType> plain(const std::optional<DataType>& dtype) {
  return dtype ? std::optional<DType>(dtype->value) : std::nullopt;
}

}  // namespace tessera::python

namespace nanobind::detail {

template <class Cpp, class Python>
struct mapped_enum_caster {
  NB_TYPE_CASTER(Cpp, make_caster<Python>::Name)

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<Python> caster;
    if (!caster.from_python(source, flags, cleanup)) return false;
    value = tessera::python::from_python(caster.value);
    return true;
  }
  static handle from_cpp(const Cpp& from, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<Python>::from_cpp(tessera::python::to_python(from), policy, cleanup);
  }
};

template <>
struct type_caster<tessera::tensix::BufferType>
    : mapped_enum_caster<tessera::tensix::BufferType, tessera::python::TtnnBufferType> {};
template <>
struct type_caster<tessera::tensix::TensorMemoryLayout>
    : mapped_enum_caster<tessera::tensix::TensorMemoryLayout, tessera::python::TtnnMemoryLayout> {};
template <>
struct type_caster<tessera::tensix::ShardDistribution>
    : mapped_enum_caster<tessera::tensix::ShardDistribution, tessera::python::TtnnDistribution> {};
template <>
struct type_caster<tessera::python::DataType>
    : mapped_enum_caster<tessera::python::DataType, tessera::python::TtnnDataType> {};

}  // namespace nanobind::detail
