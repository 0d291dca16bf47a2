#pragma once

// Cases made with ncps 1.0.1 and PyTorch (tests/data/ncp/make.py).

#include "tessera/ncp/sequence.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::ncp {

struct GoldenCase {
  std::string name;
  Layer layer;
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::map<std::string, std::vector<double>> values;
  ParameterSet<double> parameters;
  ParameterSet<double> gradients;

  const std::vector<double>& at(const std::string& key) const { return values.at(key); }
  bool has(const std::string& key) const { return values.contains(key); }
  Sequence<double> sequence() const;
};

std::vector<std::string> golden_names();
GoldenCase load_golden(const std::string& name);

// How far results may be apart: so many roundings of the type at the size of the largest value, in a chain of `length`.
double tolerance(double epsilon, double length, const std::vector<double>& values);

}  // namespace tessera::ncp
