#pragma once

#include "tessera/core/error.h"
#include "tessera/scale/communicator.h"

#include <exception>
#include <string>

namespace tessera {

template <class Body>
void together(Communicator& world, Body&& body) {
  const auto tell = [&](const std::string& cause) {
    try {
      scale_detail::report(world, cause);
    } catch (const Error&) {  // that others failed as well is theirs to tell
    }
  };
  try {
    body();
  } catch (const Error& error) {
    tell(scale_detail::cause_of(error));
    throw;
  } catch (const std::exception& error) {  // memory that is short, for instance
    tell(error.what());
    throw;
  }
  scale_detail::report(world, {});
}

}  // namespace tessera
