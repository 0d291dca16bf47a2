#pragma once

// What to train for, by name: one of the tasks that come with the library, or a table. A checkpoint notes it.

#include "tessera/core/export.h"
#include "tessera/ncp/tasks/task.h"

#include <cstdint>
#include <map>
#include <string>

namespace tessera {

struct NcpTaskOptions {
  std::string task;          // xor, sine, cheetah, csv:FILE
  std::string data;          // the folder of the cheetah's traces
  std::int64_t samples = 0;  // of xor, to train on; 0: all
  std::string loss = "mse";  // of csv
  std::string readout = "every_step";
  std::int64_t window = 32;
  std::int64_t stride = 0;
};

TSR_API ncp::Task load_ncp_task(const NcpTaskOptions& options);

TSR_API std::map<std::string, std::string> ncp_task_notes(const NcpTaskOptions& options);
TSR_API NcpTaskOptions ncp_task_from_notes(const std::map<std::string, std::string>& notes);

}  // namespace tessera
