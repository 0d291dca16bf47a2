#pragma once

// Finding the prices of a card's work from measured times.

#include "measured_ops.h"

#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/time/program_time.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace tessera::cli {

// Of the two generations there are; other boards differ in cores, clock and memory only.
struct Prices {
  TensixCosts blackhole, wormhole;
};

class TimingModel {
 public:
  TimingModel();  // as the machine files have it

  const Prices& given() const { return given_; }
  const TensixSpec& card(const std::string& machine) const;
  tensix::StepTime time(const MeasuredOp& op, const Prices& prices) const;
  // What a measurement of it would show: the kernel, and on the host the loop around it.
  double predicted_ns(const MeasuredOp& op, const Prices& prices) const;

  // Least absolute relative errors, with a pull towards the given prices for what the rows say nothing about.
  Prices fit(std::span<const MeasuredOp* const> rows) const;
  // Each row's prediction by prices that were fitted without it. Rows that do the same work stay together.
  std::vector<double> predicted_by_others(std::span<const MeasuredOp> rows, int folds) const;

 private:
  // Those of the fitted card of its generation.
  const TensixCosts& prices_of(const TensixSpec& spec, const Prices& prices) const;

  mutable std::map<std::string, Machine> machines_;
  Prices given_;
};

// [cost] of both generations, to be put into machine files.
std::string cost_sections(const Prices& prices);

}  // namespace tessera::cli
