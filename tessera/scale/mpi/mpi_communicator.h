#pragma once

#include "tessera/scale/communicator.h"

#include <memory>

namespace tessera {

// Whether mpirun (or another launcher that speaks PMIx) started this process.
bool under_mpi();

// All processes that were started together. Once in a process; MPI ends with it.
std::unique_ptr<Communicator> mpi_world();

}  // namespace tessera
