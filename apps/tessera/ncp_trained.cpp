#include "ncp.h"

#include "tessera/core/error.h"
#include "tessera/io/ncp_checkpoint.h"
#include "tessera/io/ncp_file.h"

#include <filesystem>
#include <utility>

namespace tessera::cli {

void add_ncp_trained_argument(CLI::App& command, NcpTrainedArgument& argument) {
  command
      .add_option("MODEL", argument.model,
                  "A folder that `tessera ncp train --checkpoint` made, or a .safetensors file")
      ->required();
  command.add_option("--which", argument.which, "Which parameters of the folder: best or last")
      ->check(CLI::IsMember({"best", "last"}));
}

NcpTrained load_ncp_trained(const NcpTrainedArgument& argument) {
  if (!std::filesystem::is_directory(argument.model)) {
    NcpFile file = load_ncp_file(argument.model);
    return {std::move(file.layer), std::move(file.parameters), {}};
  }
  NcpCheckpoint found = load_ncp_checkpoint(std::filesystem::path(argument.model) / "checkpoint.safetensors");
  const bool best = argument.which == "best" && found.state.best_epoch > 0;
  return {std::move(found.layer), std::move(best ? found.state.best_parameters : found.state.parameters),
          std::move(found.notes)};
}

}  // namespace tessera::cli
