#pragma once

// The processes that this one works with: those that mpirun started, or none.

#include "tessera/scale/communicator.h"

#include <memory>
#include <string>

namespace tessera::cli {

// Whether this command can work together with others under mpirun.
bool built_with_mpi();
// How many of us a launcher started, and whether that is several, without asking MPI.
int launched_size();
bool in_a_world();
// As the launcher says, before MPI runs; 0 without one.
int launched_rank();
// Starts MPI at its first use. It ends with the process.
Communicator& world();
// What world() starts: each build of the command has its own (mpi/).
std::unique_ptr<Communicator> launched_world();
// Of the threads of this process that know why it ends, one says so; false for all others.
bool first_to_speak();
// Whether world() was asked for.
bool world_began();

}  // namespace tessera::cli
