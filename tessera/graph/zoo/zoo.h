#pragma once

// Well-known networks built in C++: float32, N C H W, batch norms left as they are in training, weights seeded so that
// they are the same everywhere and activations stay in the range that trained networks have.

#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/graph/graph.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tessera {

struct ZooModel {
  std::string_view name;
  std::string_view description;
  std::int64_t channels, height, width;  // of the input
  Graph (*make)(const ZooModel& model, std::int64_t batch);
};

TSR_API std::span<const ZooModel> zoo();

// The network of that name; an Error with the names there are, or for a batch below 1.
TSR_API Graph make_zoo_model(std::string_view name, std::int64_t batch = 1);

}  // namespace tessera
