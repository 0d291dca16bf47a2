#pragma once

#include "tessera/core/error.h"
#include "tessera/scale/communicator.h"

namespace tessera {

template <class Body>
void together(Communicator& world, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    try {
      scale_detail::report(world, scale_detail::cause_of(error));
    } catch (const Error&) {  // that others failed as well is theirs to tell
    }
    throw;
  }
  scale_detail::report(world, {});
}

}  // namespace tessera
