#pragma once

// Images that are joined by channels where they lie: shards on the same cores, each core its own rows. What differs in
// layout or type is converted in place first. (concat.h has the operator itself.)

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/tensor_spec.h"
#include "tessera/targets/tensix/ops/concat/concat_layer.h"
#include "tessera/targets/tensix/ops/layer_config.h"

#include <optional>
#include <span>

namespace tessera::tensix {

struct JoinedParts {
  Layout layout = Layout::tile;  // of every part when it is joined, and of the result
  DType dtype = DType::bfloat16;
  MemoryConfig memory;  // of the result
};

// None: they cannot be joined so. The config says by its output_layout whether they are joined as rows or as tiles;
// without it they are joined if they are alike.
TSR_API std::optional<JoinedParts> join_in_shards(std::span<const TensorSpec> parts, const ConcatLayer& layer,
                                                  const LayerConfig& config);

}  // namespace tessera::tensix
