#pragma once

// A network as a Python script for another machine's own library, with its weights beside it.

#include "tessera/core/array.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::emit {

struct ScriptWeight {
  std::string name;
  std::vector<std::int64_t> shape;
  std::shared_ptr<const Array> array;  // as many elements as the shape says
};

struct Script {
  std::string text;
  std::string weights_file;  // its name; it lies beside the script
  std::vector<ScriptWeight> weights;
};

}  // namespace tessera::emit
