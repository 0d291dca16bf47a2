#pragma once

// Which numbers a machine had, in a few digits: for plans, which hold for those alone.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"

#include <string>

namespace tessera {

// Of every figure but those of [fleet]: what is around cards is no part of a plan for one.
TSR_API std::string machine_digest(const Machine& machine);

// An Error unless `machine` is the one that a plan was made for, with the same numbers.
TSR_API void check_planned_machine(const std::string& name, const std::string& digest, const Machine& machine);

}  // namespace tessera
