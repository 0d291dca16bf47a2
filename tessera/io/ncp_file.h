#pragma once

// Liquid layers as safetensors files: parameters under the names of ncps' state_dict, so that PyTorch reads what we
// write and the other way round. Files of ours also hold the description of the layer, as metadata.

#include "tessera/core/export.h"
#include "tessera/ncp/layer.h"

#include <filesystem>
#include <string_view>

namespace tessera {

struct NcpFile {
  ncp::Layer layer;
  ncp::ParameterSet<float> parameters;
};

// The parameters of `layer`, of any floating type, from a file that may know nothing of us. With a prefix ("rnn.") only
// names that begin with it count. Parameters that are missing, unknown or of another shape are one Error.
TSR_API ncp::ParameterSet<float> load_ncp_parameters(const std::filesystem::path& path, const ncp::Layer& layer,
                                                     std::string_view prefix = {});

TSR_API NcpFile load_ncp_file(const std::filesystem::path& path);
// Replaces the file in one step; a failure leaves an older one as it was.
TSR_API void save_ncp_file(const std::filesystem::path& path, const ncp::Layer& layer,
                           const ncp::ParameterSet<float>& parameters);

}  // namespace tessera
