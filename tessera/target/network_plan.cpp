#include "tessera/target/network_plan.h"

namespace tessera {

std::string_view name(Basis basis) {
  switch (basis) {
    case Basis::measured: return "measured";
    case Basis::fitted: return "fitted";
    case Basis::scaled: return "scaled";
    case Basis::assumed: return "assumed";
    case Basis::bound: return "bound";
  }
  return "";
}

}  // namespace tessera
