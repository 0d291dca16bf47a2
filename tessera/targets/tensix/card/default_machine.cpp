#include "tessera/targets/tensix/card/default_machine.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/machine/machine_file.h"

#include <cstdlib>
#include <mutex>

namespace tessera::tensix {
namespace {

std::mutex mutex;
std::string chosen;  // guarded by mutex; empty: nobody chose

}  // namespace

std::string default_machine() {
  {
    const std::lock_guard lock(mutex);
    if (!chosen.empty()) return chosen;
  }
  const char* variable = std::getenv("TESSERA_DEVICE");
  return variable != nullptr && *variable != '\0' ? variable : "wormhole_n150";
}

void set_default_machine(std::string_view name_or_path) {
  tensix_of(load_machine(name_or_path));
  const std::lock_guard lock(mutex);
  chosen = name_or_path;
}

TensixSpec load_default_card() { return tensix_of(load_machine(default_machine())); }

std::shared_ptr<Device> open_default_device(int id, const DeviceOptions& options) {
  const Machine machine = load_machine(default_machine());
  const int chips = tensix_of(machine).chips;
  check(id >= 0 && id < chips, Code::invalid_argument,
        Hint{"TESSERA_DEVICE or set_default_machine choose another board"},
        "device_id {} does not exist: {} has {}, counted from 0", id, machine.name, counted(chips, "chip"));
  return Device::open(machine, options, id);
}

}  // namespace tessera::tensix
