#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <string>

namespace tessera::tensix {

// One number for each row: a reduction of its columns.
struct ReduceLayer {
  std::string reduction = "sum";  // a line of reductions.def
  bool squares = false;           // of the squares of what is there
  bool root = false;              // the square root of it

  const CardOp* op() const;
};

}  // namespace tessera::tensix
