#pragma once

// The card that is opened when nobody names one.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device.h"

#include <memory>
#include <string>
#include <string_view>

namespace tessera::tensix {

// A name or path for load_machine(): the one set here, else $TESSERA_DEVICE, else "wormhole_n150".
TSR_API std::string default_machine();
// Refuses machines that cannot be loaded or have no banks.
TSR_API void set_default_machine(std::string_view name_or_path);

TSR_API TensixSpec load_default_card();
// Chip `id` of the default machine's board.
TSR_API std::shared_ptr<Device> open_default_device(int id, const DeviceOptions& options);

}  // namespace tessera::tensix
