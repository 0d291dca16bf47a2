#include "tessera/targets/tensix/card/compute_config.h"

namespace tessera::tensix {

std::string_view name(MathFidelity fidelity) {
  switch (fidelity) {
    case MathFidelity::lofi: return "LoFi";
    case MathFidelity::hifi2: return "HiFi2";
    case MathFidelity::hifi3: return "HiFi3";
    case MathFidelity::hifi4: return "HiFi4";
  }
  return "unknown fidelity";
}

}  // namespace tessera::tensix
