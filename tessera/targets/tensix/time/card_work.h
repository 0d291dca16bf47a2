#pragma once

// What one card does for a batch, for models of many cards.

#include "tessera/core/dtype.h"
#include "tessera/core/error.h"
#include "tessera/graph/graph.h"
#include "tessera/target/simulation.h"
#include "tessera/targets/tensix/time/pipeline.h"

namespace tessera::tensix {

struct CardWork : DeviceWork {
  Graph graph;  // says how many frames a batch has, and which weights
  PipelineWork pipeline;
  DType weights_dtype = DType::bfloat8_b;
};

// An Error for work of other machines.
inline const CardWork& card_work_of(const DeviceWork& work) {
  const auto* card = dynamic_cast<const CardWork*>(&work);
  if (card == nullptr) fail(Code::unsupported, "fleets are made of cards, and this is no work of a card");
  return *card;
}

}  // namespace tessera::tensix
