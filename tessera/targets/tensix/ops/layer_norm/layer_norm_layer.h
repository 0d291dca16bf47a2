#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

namespace tessera::tensix {

// A norm of each row: its columns less their mean, over their deviation, times weights plus a bias.
struct LayerNormLayer {
  float epsilon = 1e-5f;
  Constant weight, bias;          // one for each column; the bias may be left out
  bool root_mean_square = false;  // without the mean, over the root of the mean square

  const CardOp* op() const;
};

}  // namespace tessera::tensix
