#pragma once

#include "command.h"
#include "model_argument.h"

#include <string>

namespace tessera::cli {

struct BenchLayersOptions {
  std::string file, filter;  // only layers whose name contains it
  SessionArgument session;
  double seconds = 0.3;  // for each layer
};

// A row for each layer of the file.
void bench_layers(const BenchLayersOptions& options, const Context& context);

// What the processor can do at best: `tessera bench --peak`.
void bench_peak(const SessionArgument& session, const Context& context);

}  // namespace tessera::cli
