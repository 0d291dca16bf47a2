#pragma once

// A liquid layer on the command line: by its wiring, by its sizes, from a file, or as a device's guide has it.

#include "command.h"

#include "tessera/ncp/layer.h"
#include "tessera/targets/apple/verdicts/device_profile.h"

#include <string>
#include <vector>

namespace tessera::cli {

struct NcpModelArgument {
  std::string device = "host";
  std::string cell = "cfc";
  std::string wiring;
  std::string layer_file;
  int units = 0;
  int inputs = 64;
  std::vector<int> backbone;
  bool no_backbone = false;
  std::string mode = "default";
  std::string activation = "lecun_tanh";
  std::string solver = "semi_implicit";
  int unfolds = 6;
  int projection = 0;
  bool mixed_memory = false;
  bool last_only = false;
  int batch = 0;  // 0: the device's
  int length = 16;
};

void add_ncp_model_argument(CLI::App& command, NcpModelArgument& argument);
ncp::Layer ncp_layer(const NcpModelArgument& argument, const apple::DeviceProfile& device);
std::int64_t ncp_batch(const NcpModelArgument& argument, const apple::DeviceProfile& device);
// "CfC 128, backbone [64, 64]", "LTC AutoNCP(16,4)".
std::string ncp_layer_text(const ncp::Layer& layer);

}  // namespace tessera::cli
