#pragma once

// One network on several machines, side by side: a table, and a page of bars.

#include "tessera/core/export.h"
#include "tessera/core/table.h"
#include "tessera/target/network_plan.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

struct MachineRow {
  std::string machine, title;
  std::string refusal = {};  // why there is no plan; the figures below are then empty

  std::int64_t frames = 0;                  // of a batch
  double device_s = 0;                      // a batch, without the host
  std::optional<double> end_to_end_s = {};  // with it, where that is known
  double math_fraction = 0;                 // of the time, in steps that wait for arithmetic
  std::string bound = {};                   // the resource that most of the time goes to
  double bound_fraction = 0;                // how much of it
  std::string basis = {};                   // what most of the time was made from: "measured", "fitted", ...
  std::string memory = {};                  // the fullest one
  std::int64_t memory_bytes = 0;
  std::optional<std::int64_t> memory_limit_bytes = {};
  std::optional<double> pcc = {};
  std::optional<double> price_per_hour = {};
  double planning_s = 0;
  bool stopped = false;  // the search ran out of time

  double frames_per_s() const { return device_s > 0 ? static_cast<double>(frames) / device_s : 0; }
  std::optional<double> price_per_million() const;
};

// Of a finished plan. `measured_s`: a batch, by the clock of this machine.
TSR_API MachineRow machine_row(const std::string& machine, const std::string& title, const NetworkPlan& plan,
                               std::optional<double> measured_s = {});

// Machines with a plan first, the fastest of them before the others.
TSR_API void sort_by_rate(std::vector<MachineRow>& rows);

TSR_API Table machine_table(std::span<const MachineRow> rows);

// One HTML file: bars on a logarithmic scale, drawn by what each time rests on, with the table below them. No scripts.
TSR_API std::string machine_page(const std::string& model, std::span<const MachineRow> rows);

}  // namespace tessera
