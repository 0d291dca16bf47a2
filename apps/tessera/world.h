#pragma once

// The processes that this one works with: those that mpirun started, or none.

#include "tessera/scale/communicator.h"

#include <string>

namespace tessera::cli {

// Whether a launcher started several of us, without asking MPI.
bool in_a_world();
// As the launcher says, before MPI runs; 0 without one.
int launched_rank();
// Starts MPI at its first use. It ends with the process.
Communicator& world();
// Of the threads of this process that know why it ends, one says so; false for all others.
bool first_to_speak();
// Whether world() was asked for.
bool world_began();

}  // namespace tessera::cli
