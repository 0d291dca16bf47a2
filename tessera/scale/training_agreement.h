#pragma once

// What ranks that train one layer together must have alike before they begin.

#include "tessera/core/export.h"
#include "tessera/ncp/trainer.h"
#include "tessera/scale/communicator.h"

#include <span>
#include <string_view>

namespace tessera {

struct NamedDataset {
  std::string_view what;  // "the data to train on"
  const ncp::Dataset* data = nullptr;
};

// An Error everywhere unless all have the same layer, options and data; it names what differs, and who.
TSR_API void must_agree_to_train(Communicator& world, const ncp::Layer& layer, const ncp::TrainingOptions& options,
                                 std::span<const NamedDataset> data);

}  // namespace tessera
