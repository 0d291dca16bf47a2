#pragma once

// What ranks that train one layer together must have alike before they begin.

#include "tessera/core/export.h"
#include "tessera/ncp/tasks/task.h"
#include "tessera/ncp/trainer.h"
#include "tessera/scale/communicator.h"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

struct NamedDataset {
  std::string_view what;  // "the data to train on"
  const ncp::Dataset* data = nullptr;
};

// Those of a task, in an order that stays.
TSR_API std::array<NamedDataset, 3> datasets_of(const ncp::Task& task);

// Of all the data, in letters that a file can keep.
TSR_API std::string data_digest(std::span<const NamedDataset> data);

// An Error everywhere unless all have the same layer, options and data; it names what differs, and who.
TSR_API void must_agree_to_train(Communicator& world, const ncp::Layer& layer, const ncp::TrainingOptions& options,
                                 std::span<const NamedDataset> data);

}  // namespace tessera
