#include "world.h"

#include "tessera/core/error.h"

#ifdef TESSERA_MPI
#include "tessera/scale/mpi/mpi_communicator.h"
#endif

#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace tessera::cli {
namespace {

std::unique_ptr<Communicator>& instance() {
  static std::unique_ptr<Communicator> world;
  return world;
}

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  int value = otherwise;
  const std::string_view view(text);
  std::from_chars(view.data(), view.data() + view.size(), value);
  return value;
}

}  // namespace

bool in_a_world() { return number_in("OMPI_COMM_WORLD_SIZE", 1) > 1; }
int launched_rank() { return number_in("OMPI_COMM_WORLD_RANK", 0); }

Communicator& world() {
  std::unique_ptr<Communicator>& held = instance();
  if (held) return *held;
#ifdef TESSERA_MPI
  held = under_mpi() ? mpi_world() : single_process();
#else
  check(!in_a_world(), Code::unsupported,
        Hint{"install Open MPI's headers (Debian: libopenmpi-dev), configure and build again"},
        "mpirun has started {} processes, and this command was built without MPI",
        number_in("OMPI_COMM_WORLD_SIZE", 1));
  held = single_process();
#endif
  return *held;
}

bool world_began() { return instance() != nullptr; }

}  // namespace tessera::cli
