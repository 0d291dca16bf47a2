#pragma once

// What to train for, from the command line or from the notes of a checkpoint.

#include "command.h"

#include "tessera/ncp/tasks/task.h"

#include <map>
#include <string>

namespace tessera::cli {

struct TaskOptions {
  std::string task;          // xor, sine, cheetah, csv:FILE
  std::string data;          // the folder of the cheetah's traces
  std::int64_t samples = 0;  // of xor, to train on; 0: all
  std::string loss = "mse";  // of csv
  std::string readout = "every_step";
  std::int64_t window = 32;
  std::int64_t stride = 0;
};

void add_task_options(CLI::App& command, TaskOptions& options);
ncp::Task make_task(const TaskOptions& options);

std::map<std::string, std::string> task_notes(const TaskOptions& options);
TaskOptions task_from_notes(const std::map<std::string, std::string>& notes);

}  // namespace tessera::cli
