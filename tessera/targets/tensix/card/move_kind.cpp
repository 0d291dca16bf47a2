#include "tessera/targets/tensix/card/move_kind.h"

namespace tessera::tensix {

std::string_view name(MoveKind kind) {
  switch (kind) {
    case MoveKind::spill: return "spill";
    case MoveKind::restore: return "restore";
    case MoveKind::reshard: return "reshard";
    case MoveKind::slide: return "slide";
  }
  return "";
}

}  // namespace tessera::tensix
