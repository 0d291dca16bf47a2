#pragma once

#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

#include <optional>
#include <string>
#include <string_view>

namespace tessera::cli {

// A tensor as one word of the command line:
//
//   [NAME=]SHAPE:DTYPE:LAYOUT:MEMORY[:SHARDING[:ORIENTATION][:shard=HxW]]
//
//   1x1x2048x64:bfloat16:tile:dram
//   act=1x1x2048x64:bfloat16:tile:l1:height@8x8
//   1x1x32x2048:bfloat8_b:tile:l1:width@1x8:col_major
//   1x64:uint16:row_major:l1_small:height@2:shard=1x64
//
// The cores of a sharding are COLUMNSxROWS from core 0,0 on, or a number of cores, taken row by row.
struct TensorArgument {
  std::string name;
  tensix::TensorSpec spec;
};

// Refuses with what was found, what is expected there, and the whole word as context. Device `grid` is what a number of
// cores is taken from.
TensorArgument parse_tensor_argument(std::string_view text, tensix::CoreGrid grid);

}  // namespace tessera::cli
