#pragma once

// Where two runs of a network part: the first value that one of them gets wrong.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/report/difference.h"
#include "tessera/session/options.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct Graph;

// The first value over a tolerance, and how many were compared.
struct Bisection {
  // A value, the node that made it, and how far off what that node read was.
  struct Finding {
    struct Input {
      std::string value, role, type;  // role: "constant", "given" or "made earlier"
      Shape shape;
      std::optional<Difference> difference;
    };

    std::string value, node, op, kernel, type;
    Shape shape;
    Difference difference;
    std::vector<Input> inputs;
  };

  std::optional<Finding> first;
  bool fused = false;         // found only with operators fused
  std::int64_t compared = 0;  // values that both sides have
  std::int64_t skipped = 0;   // values that only we have
};

// Compares every value that a session makes with the expected one of its name, in the order in which they are made:
// first without fusing anything, so that a fault is found in one operator, then as the options say.
TSR_API Bisection bisect(const Graph& graph, const std::vector<Array>& inputs, const SessionOptions& options,
                         const std::map<std::string, Array>& expected, double tolerance);

}  // namespace tessera
