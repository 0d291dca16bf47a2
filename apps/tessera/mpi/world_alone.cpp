// Of a command that was built without MPI: as it is in a wheel, which cannot know the MPI of the machine it gets to.

#include "apps/tessera/world.h"

#include "tessera/core/error.h"

#include <memory>

namespace tessera::cli {

bool built_with_mpi() { return false; }

std::unique_ptr<Communicator> launched_world() {
  check(!in_a_world(), Code::unsupported,
        Hint{"build tessera from source where Open MPI's headers are (Debian: libopenmpi-dev); the command of a wheel "
             "has no MPI, but Python scripts have it through mpi4py"},
        "mpirun has started {} processes, and this command was built without MPI", launched_size());
  return single_process();
}

}  // namespace tessera::cli
