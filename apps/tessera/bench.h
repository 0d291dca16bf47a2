#pragma once

// Subjects of `tessera bench` with files of their own.

#include "command.h"

#include <string>

namespace tessera::cli {

struct BenchTimingOptions {
  std::string ops, gemm;  // files of measured rows
  std::string layers;     // a file of networks with the configuration of each layer
  std::string svg;        // where a picture goes
  int folds = 0;          // 0: prices of the machine files
  bool fit = false;       // print the prices that fit the rows best
};

// Predicted against measured times of operators on cards.
void bench_timing(const BenchTimingOptions& options, const Context& context);

// Device times of networks whose layers come with their configurations, against what was published of them.
void bench_networks(const std::string& file, const Context& context);

}  // namespace tessera::cli
