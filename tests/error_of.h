#pragma once

#include "tessera/core/error.h"

#include <string>

namespace tessera::for_tests {

// The message of the Error that `body` throws.
std::string error_of(const auto& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tessera::for_tests
