#pragma once

// Subjects of `tessera bench` with files of their own.

#include "command.h"
#include "model_argument.h"

#include <string>

namespace tessera::cli {

struct BenchNetworkOptions {
  ModelArgument model;
  SessionArgument session;
  int runs = 0;        // 0: as many as fit
  double seconds = 0;  // for all runs together
  int streams = 1;     // requests at the same time
};

// How long a network takes: the first run, the usual one, the slow ones, and how many a second.
void bench_network(const BenchNetworkOptions& options, const Context& context);

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
