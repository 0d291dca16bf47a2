#pragma once

// What a trial came to, as bytes: for other processes of the same program.

#include "tessera/targets/tensix/plan/trials.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tessera::tensix {

// None: its tensor's place cannot be told so, and who wants to know has to try for itself.
std::optional<std::vector<std::byte>> trial_bytes(const UnnumberedTrial& trial);
UnnumberedTrial trial_of(std::span<const std::byte> bytes);

}  // namespace tessera::tensix
