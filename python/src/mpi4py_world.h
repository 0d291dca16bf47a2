#pragma once

// The processes of an mpi4py communicator. The package is asked for when somebody hands one over, and not before: MPI
// is whichever it was built with.

#include "tessera/scale/communicator.h"

#include <nanobind/nanobind.h>

#include <memory>

namespace tessera::python {

// All ranks of the communicator call it; messages go by a duplicate of it. May be used without the interpreter's lock.
std::unique_ptr<Communicator> mpi4py_world(const nanobind::object& communicator);

}  // namespace tessera::python
