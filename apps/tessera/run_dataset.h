#pragma once

// `tessera run` over many samples, alone or by all processes that mpirun started.

#include "command.h"
#include "model_argument.h"

#include "tessera/session/session.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cli {

struct DatasetArgument {
  std::int64_t samples = 0;  // random ones, where no input is given
  bool resume = false;
};

// --samples, --resume.
void add_dataset_argument(CLI::App& command, DatasetArgument& argument);

// Many samples are meant: an input is a folder, or a number of them, --resume or several processes ask for it.
bool wants_dataset(const ModelArgument& model, const DatasetArgument& argument);

struct DatasetRun {
  std::vector<Port> ports;
  std::vector<Array> outputs;  // on rank 0 alone
  std::string closing;         // likewise
};

// Each input is a folder of .npy files (one sample or several in each, in the order of their names) or .npz files
// (all inputs by name), or a file whose first extent counts samples. --batch of them are run at a time. Every rank
// calls it; `folder`, where results are to go, keeps what is done until finish_dataset(), which removes that.
DatasetRun run_dataset(const ModelArgument& model, const SessionArgument& session, const DatasetArgument& argument,
                       const std::string& folder, const Context& context);
void finish_dataset(const std::string& folder);

}  // namespace tessera::cli
