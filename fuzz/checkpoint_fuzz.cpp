// Checkpoints of training.

#include "fuzz.h"

#include "tessera/io/ncp_checkpoint.h"

int fuzz_one(std::span<const std::uint8_t> input) {
  using namespace tessera;
  try {
    const NcpCheckpoint found = parse_ncp_checkpoint(std::as_bytes(input));
    const ncp::Trainer trainer(found.layer, found.state.parameters, found.options);
    fuzz::require(trainer.state().parameters.items.size() == found.state.parameters.items.size(),
                  "a trainer takes what was read");
  } catch (const Error& error) {
    return fuzz::refused(error);
  }
  return 0;
}
