#pragma once

#include "tessera/core/error.h"
#include "tessera/core/export.h"

#include <string>
#include <utility>

namespace tessera {

// Planning was stopped before there was a plan.
class TSR_API PlanningStopped : public Error {
 public:
  explicit PlanningStopped(std::string message) : Error(Code::invalid_argument, std::move(message)) {}
};

}  // namespace tessera
