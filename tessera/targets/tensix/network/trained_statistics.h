#pragma once

// Seeded networks are kinder to low precision than trained ones: their weights are normal numbers of one size, and
// their batch norms do not fit the data, so that results hardly depend on the input. This makes their statistics those
// of trained networks, for studies of accuracy where no weights can be had.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/graph.h"

#include <vector>

namespace tessera::tensix {

struct TrainedStatistics {
  // Spreads are standard deviations of natural logarithms.
  double weight_spread = 0.5;  // within a filter: a kurtosis of 3 exp(4 * 0.5^2) = 8
  double scale_spread = 0.6;   // between the channels of a batch norm: 95 % within a factor of 3.2 around the middle
  // A batch norm's shift, as a part of its scale: negative before rectifiers, so that most of what they pass on is 0.
  double shift_mean = -0.4, shift_deviation = 0.6;
};

// Every weight is multiplied by a random factor of its own, and every batch norm gets random scales and shifts and the
// mean and variance that its input really has for these inputs. The rest of the network stays as it is. Seeded by the
// names of values: the same every time. Statistics must be constants, as in the zoo.
TSR_API Graph with_trained_statistics(Graph graph, const std::vector<Array>& inputs,
                                      const TrainedStatistics& statistics = {});

}  // namespace tessera::tensix
